/* The keys of the review page. Without it everything can be clicked. */
(() => {
  const cards = () => [...document.querySelectorAll("[data-review]")];
  const current = () => document.activeElement?.closest?.("[data-review]");

  function step(by) {
    const all = cards();
    const place = all.indexOf(current());
    const next = all[place < 0 ? 0 : Math.min(Math.max(place + by, 0), all.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  const acts = {
    j: () => step(1),
    k: () => step(-1),
    a: (card) => card.querySelector("button[value=approve]")?.click(),
    e: (card) => card.querySelector("textarea")?.focus(),
    d: (card) => {
      const sure = card.querySelector("details");
      if (!sure) return;
      sure.open = true;
      sure.querySelector("button").focus();
    },
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (typing) {
      const card = current();
      if (card && event.key === "Escape") card.focus();
      if (card && event.key === "Enter" && (event.ctrlKey || event.metaKey)) acts.a(card);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(acts, event.key)) return;
    const card = current() ?? cards()[0];
    if (!card) return;
    event.preventDefault();
    acts[event.key](card);
  });
})();
