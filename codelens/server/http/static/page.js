// Keys, and the account of a rank beside the hits. Without this file every link and the form work as they are.
"use strict";
(() => {
  const box = document.getElementById("q");
  const panel = document.getElementById("panel");
  const hits = [...document.querySelectorAll(".hit")];
  let chosen = -1;
  let shown = null; // the address whose account is in the panel, or is on its way

  function choose(place) {
    if (!hits.length) return;
    chosen = Math.max(0, Math.min(hits.length - 1, place));
    hits.forEach((hit, i) => hit.classList.toggle("chosen", i === chosen));
    hits[chosen].focus({ preventScroll: true });
    hits[chosen].scrollIntoView({ block: "nearest" });
    if (panel && !panel.hidden) explain(hits[chosen].querySelector("a.why"));
  }

  async function fetched(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    return [...(read.querySelector("main") || read.body).childNodes];
  }

  async function explain(link) {
    if (!link || !panel || shown === link.href) return;
    const address = new URL(link.href);
    address.pathname = "/why/panel";
    shown = link.href;
    panel.hidden = false;
    panel.setAttribute("aria-busy", "true");
    if (!panel.firstChild) panel.textContent = "…";
    // On a narrow screen the panel lies over the lower part: the hit must not be under it.
    if (getComputedStyle(panel).position === "fixed") link.closest(".hit").scrollIntoView({ block: "start" });
    try {
      const part = await fetched(address);
      if (shown !== link.href) return; // another hit was asked about meanwhile
      panel.replaceChildren(...part);
      panel.scrollTop = 0;
      panel.removeAttribute("aria-busy");
    } catch {
      location.href = link.href;
    }
  }

  function closePanel() {
    panel.hidden = true;
    panel.replaceChildren();
    shown = null;
  }

  async function showKeys() {
    let dialog = document.querySelector("dialog");
    if (!dialog) {
      const part = await fetched("/help");
      dialog = document.createElement("dialog");
      dialog.append(...part);
      dialog.autofocus = true; // not its first link
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  }

  function follow(selector) {
    const link = document.querySelector(selector);
    if (link) link.click();
  }

  const keys = {
    "/": () => { box.focus(); box.select(); },
    j: () => choose(chosen + 1),
    k: () => choose(chosen - 1),
    o: () => hits[chosen] && hits[chosen].querySelector("a.open").click(),
    w: () => {
      if (chosen < 0) choose(0);
      const link = hits[chosen] && hits[chosen].querySelector("a.why");
      if (panel && link && shown === link.href) closePanel();
      else explain(link);
    },
    n: () => follow("a[rel=next]"),
    p: () => follow("a[rel=prev]"),
    u: () => follow("a.back"),
    "?": () => { showKeys(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") {
      if (document.querySelector("dialog[open]")) return; // it closes itself
      if (document.activeElement === box) { box.blur(); event.preventDefault(); }
      else if (panel && !panel.hidden) closePanel();
      return;
    }
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === "Enter") {
      if (event.target === hits[chosen]) keys.o();
      return;
    }
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const link = event.target.closest("a.why");
    if (link && panel) {
      event.preventDefault();
      choose(hits.indexOf(link.closest(".hit")));
      explain(link);
    }
    if (event.target.closest("header a.help")) { event.preventDefault(); showKeys(); }
  });
})();
