/* Keeps the conversation on a chat's page fresh. Without it the page shows what was said when it was loaded. */
(() => {
  const root = document.querySelector("[data-conversation]");
  if (!root) return;
  const part = (of, name) => of.querySelector(`[data-${name}]`);
  const scroller = part(root, "scroller");
  const list = part(root, "lines");
  const log = part(root, "log");
  const lost = part(root, "lost");
  const newest = part(root, "newest");
  const EVERY = 2500;
  const SLOWEST = 60000;
  let version = root.dataset.version;
  let wait = EVERY;
  let timer = 0;
  let asking = false;

  /* The newest line stays in sight until somebody scrolls back: also where pictures come late. */
  let follows = !location.hash.startsWith("#line-");
  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
  const follow = () => { if (follows) scroller.scrollTop = scroller.scrollHeight; };
  const sized = new ResizeObserver(follow);

  /* What is not so does not stand on the page: words wait in templates. */
  function tell(place, words, isSo) {
    if (isSo === place.hasChildNodes()) return;
    place.replaceChildren(...(isSo ? [words.content.cloneNode(true)] : []));
  }
  const isLost = (isSo) => tell(lost, part(root, "lost-words"), isSo);
  const hasNewest = (isSo) => tell(newest, part(root, "newest-button"), isSo);

  async function ask(address, headers) {
    const answer = await fetch(address, { headers, cache: "no-store", redirect: "error" });
    if (answer.status === 304) return null;
    if (!answer.ok) throw new Error(String(answer.status));
    version = address.includes("before=") ? version : answer.headers.get("ETag") ?? version;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }

  /* Only what changed is touched: what is read aloud is what is new. */
  function merge(fresh) {
    const lines = [...fresh.children];
    const wanted = new Set(lines.map((line) => line.id));
    const first = lines[0] && document.getElementById(lines[0].id);
    let added = false;
    if (!first) {
      list.replaceChildren(...lines);
      return true;
    }
    for (let line = first; line; ) {
      const next = line.nextElementSibling;
      if (!wanted.has(line.id)) line.remove();
      line = next;
    }
    let before = first;
    lines.forEach((line, place) => {
      const shown = document.getElementById(line.id);
      if (!shown) {
        before.after(line);
        added = true;
        before = line;
      } else {
        /* The first one's day stands where the page begins, not where older lines were loaded. */
        const isSame = shown.outerHTML === line.outerHTML || (place === 0 && first.previousElementSibling);
        if (!isSame) shown.replaceWith(line);
        before = isSame ? shown : line;
      }
    });
    return added;
  }

  async function refresh() {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const page = await ask(`${root.dataset.conversation}?part=lines`, { "If-None-Match": version });
      if (page) show(page);
      wait = EVERY;
      isLost(false);
    } catch {
      wait = Math.min(wait * 2, SLOWEST);
      isLost(true);
    } finally {
      asking = false;
      later();
    }
  }

  function show(page) {
    const open = root.querySelector("#why-silent")?.open;
    part(root, "silence").replaceWith(part(page, "silence"));
    const why = root.querySelector("#why-silent");
    if (why && open !== undefined) why.open = open;
    const added = merge(part(page, "lines"));
    follow();
    if (added && !follows) hasNewest(true);
  }

  async function earlier(link) {
    link.setAttribute("aria-disabled", "true");
    try {
      const page = await ask(`${link.getAttribute("href")}&part=lines`, {});
      follows = false;
      const height = scroller.scrollHeight;
      const lines = [...part(page, "lines").children].filter((line) => !document.getElementById(line.id));
      log.setAttribute("aria-live", "off");
      list.prepend(...lines);
      part(root, "earlier").replaceWith(part(page, "earlier"));
      scroller.scrollTop += scroller.scrollHeight - height;
      log.setAttribute("aria-live", "polite");
    } catch {
      isLost(true);
      link.removeAttribute("aria-disabled");
    }
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(refresh, wait);
  }

  root.addEventListener("click", (event) => {
    const link = event.target.closest("[data-earlier] a");
    if (link) {
      event.preventDefault();
      if (!link.hasAttribute("aria-disabled")) earlier(link);
    }
  });
  newest.addEventListener("click", () => { follows = true; follow(); });
  scroller.addEventListener("scroll", () => {
    follows = isAtEnd();
    if (follows) hasNewest(false);
  }, { passive: true });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  sized.observe(scroller);
  sized.observe(log);
  follow();
  later();
})();
