/* Copies the request of a step. Without it, or where nothing may be copied, the link leads to its text. */
(() => {
  /* What runs is looked at again until it has ended. */
  if (document.querySelector("[data-unfinished]")) setTimeout(() => location.reload(), 2000);

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-copy]");
    if (!link) return;
    event.preventDefault();
    const card = link.closest("section");
    const field = card.querySelector("[data-text]");
    const told = card.querySelector("[data-copied]");
    try {
      const answer = await fetch(link.href, { redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      field.value = await answer.text();
    } catch {
      location.assign(link.href);
      return;
    }
    try {
      await navigator.clipboard.writeText(field.value);
      told.replaceChildren(card.querySelector("[data-copied-words]").content.cloneNode(true));
    } catch {
      field.hidden = false;
      field.select();
    }
  });
})();
