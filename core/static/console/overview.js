/* Keeps the landing page as it is now: asks for its content while somebody looks, and puts in what
   changed, part by part. Without it the page is as it was when it was loaded. */
(() => {
  const live = document.getElementById("arise-live");
  const contact = document.getElementById("arise-contact");
  if (!live || !contact) return;
  const every = 1000 * Number(live.dataset.seconds || 5);
  const longest = 60000;
  const patience = 20000;
  let wait = every;
  let etag = "";
  let timer = 0;
  let asking = false;

  const parts = (root) => [...root.querySelectorAll("[data-part]")];
  const names = (root) => parts(root).map((part) => part.dataset.part).join(" ");
  const given = new Map(parts(live).map((part) => [part.dataset.part, part.innerHTML]));

  function isBeingRead(part) {
    const chosen = document.getSelection();
    return chosen && !chosen.isCollapsed && chosen.containsNode(part, true);
  }

  /* Put new content into an element, and leave what a person did to the old one. */
  function replace(old, fresh) {
    const opened = [...old.querySelectorAll("details[open][id]")].map((one) => one.id);
    const scrolled = [...old.querySelectorAll(".arise-scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    const alike = (root) => [...root.querySelectorAll("a[href], summary")];
    const key = (one) => one.getAttribute("href") || one.parentElement.id;
    const place = held ? alike(old).filter((one) => key(one) === key(held)).indexOf(held) : -1;
    old.replaceChildren(...fresh.childNodes);
    for (const id of opened) old.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
    old.querySelectorAll(".arise-scroll").forEach((one, number) => {
      [one.scrollLeft, one.scrollTop] = scrolled[number] ?? [0, 0];
    });
    if (place >= 0) {
      alike(old).filter((one) => key(one) === key(held))[place]?.focus({ preventScroll: true });
    }
  }

  /* Whether all of it was put in: what somebody is marking is left for the next time. */
  function put(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    if (names(page) !== names(live)) {
      replace(live, page.body);
      for (const part of parts(live)) given.set(part.dataset.part, part.innerHTML);
      return true;
    }
    let whole = true;
    const old = parts(live);
    parts(page).forEach((fresh, number) => {
      const name = fresh.dataset.part;
      const html = fresh.innerHTML;
      if (given.get(name) === html) return;
      if (isBeingRead(old[number])) {
        whole = false;
        return;
      }
      replace(old[number], fresh);
      given.set(name, html);
    });
    return whole;
  }

  function tell(text) {
    contact.textContent = text;
    contact.hidden = !text;
  }

  async function ask() {
    const answer = await fetch(live.dataset.url, {
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",
      headers: etag ? { "If-None-Match": etag } : {},
      signal: AbortSignal.timeout(patience),
    });
    if (answer.type === "opaqueredirect" || answer.status === 403) return false;
    if (answer.status !== 304) {
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = answer.headers.get("ETag") ?? "";
      etag = put(await answer.text()) ? fresh : "";
    }
    return true;
  }

  async function look() {
    if (asking || document.hidden) return;
    asking = true;
    clearTimeout(timer);
    try {
      if (!(await ask())) {
        tell(contact.dataset.ended);
        return;
      }
      wait = every;
      tell("");
    } catch {
      wait = Math.min(longest, 2 * wait);
      tell(contact.dataset.lost);
    } finally {
      asking = false;
    }
    timer = setTimeout(look, wait);
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) look();
  });
  timer = setTimeout(look, every);
})();
