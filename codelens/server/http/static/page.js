// Keys, names that can be clicked, the panel, and pages that are exchanged in place: one request for each click.
// Without this file every link and the form work as they are.
"use strict";
(() => {
  const box = document.getElementById("q");
  const form = document.getElementById("search");
  const page = document.getElementById("page");
  const panel = document.getElementById("panel");
  const QUICK = 100; // milliseconds of a search that may run at each key
  const PAUSE = 120; // milliseconds without a key before it runs
  const LONGEST = 2000; // characters of a line in which names can be clicked
  const NAME = /[$_\p{L}][$\p{L}\p{N}_]*/gu;
  const navigation = performance.getEntriesByType("navigation")[0];
  let hits, chosen, name; // the hits of the page, the place of the current one, the name in code that is selected by keys
  let shown = [pageOf(location), ""]; // the addresses of the page and of the panel's content
  let wanted = shown; // the same of what is shown next
  let running = null; // what can stop the requests under way
  let quick = !navigation || navigation.responseStart - navigation.requestStart < QUICK;
  let waiting = 0;

  // Addresses. `at` and `why` in one name the target of the panel: /?q=x&at=PATH:LINE:NAME

  function here() { return new URL(location); }

  function pageOf(address) {
    const url = new URL(address);
    url.searchParams.delete("at");
    url.searchParams.delete("why");
    return url.pathname + url.search;
  }

  function panelOf(url) {
    const given = new URLSearchParams(url.search), target = given.get("why");
    if (given.get("at")) return "/name/panel?" + new URLSearchParams({ target: given.get("at") });
    if (!target || url.pathname !== "/") return "";
    for (const key of ["why", "offset"]) given.delete(key);
    given.set("target", target);
    return "/why/panel?" + given;
  }

  function withPanel(key, target) {
    const url = here();
    for (const other of ["at", "why"]) url.searchParams.delete(other);
    if (target) url.searchParams.set(key, target);
    return url;
  }

  async function fetched(address, signal) {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal });
    return { ok: answer.ok, text: await answer.text() };
  }

  const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

  // Show an address: what it shares with the shown one stays. `how`: push, replace, or nothing where the browser went there.

  async function show(url, how = "", typed = false) {
    const stop = new AbortController();
    running?.abort();
    running = stop;
    wanted = [pageOf(url), panelOf(url)];
    const [newPage, newPanel] = wanted, isNew = newPage !== shown[0];
    const before = { ...history.state, scroll: scrollY };
    if (how === "push") history.replaceState(before, "");
    const bare = new URL(url);
    bare.hash = "";
    if (how) history[how + "State"]({ typed }, "", isNew ? bare : url);
    try {
      if (isNew) {
        const began = performance.now();
        const answer = await fetched(newPage, stop.signal);
        if (url.pathname === "/") quick = answer.ok && performance.now() - began < QUICK;
        fill(parsed(answer.text), typed);
        shown = [newPage, shown[1]];
        if (how && !typed) { scrollTo(0, 0); (page.querySelector(".start") ? box : page.querySelector("main")).focus({ preventScroll: true }); }
      }
      const scroll = how ? undefined : history.state?.scroll;
      if (url.hash && isNew) location.replace(url.hash); // this marks and shows the line
      if (isNew && (scroll !== undefined || !(how || url.hash))) scrollTo(0, scroll ?? 0);
      atLine();
      if (newPanel !== shown[1]) await fillPanel(newPanel, stop.signal);
    } catch (fault) {
      if (fault.name !== "AbortError") location.href = url;
    }
  }

  function fill(read, typed) {
    page.replaceChildren(...read.getElementById("page").childNodes);
    document.title = read.title;
    document.getElementById("carried").replaceChildren(...read.getElementById("carried").childNodes);
    if (!typed) box.value = read.getElementById("q").value;
    document.getElementById("announced").textContent = page.querySelector(".summary")?.textContent ?? document.title;
    begin();
  }

  async function fillPanel(address, signal) {
    panel.hidden = !address;
    if (!address) { panel.replaceChildren(); shown = [shown[0], ""]; return; }
    panel.setAttribute("aria-busy", "true");
    if (!panel.firstChild) panel.textContent = "…";
    // On a narrow screen the panel lies over the lower part: the hit must not be under it.
    if (getComputedStyle(panel).position === "fixed") hits[chosen]?.scrollIntoView({ block: "start" });
    const read = parsed((await fetched(address, signal)).text);
    if (signal.aborted) return;
    const close = Object.assign(document.createElement("button"), { type: "button", className: "close", textContent: "×", title: "Close (Esc)" });
    close.setAttribute("aria-label", "Close");
    panel.replaceChildren(close, ...(read.querySelector("main") || read.body).childNodes);
    shown = [shown[0], address];
    panel.scrollTop = 0;
    panel.removeAttribute("aria-busy");
    document.getElementById("announced").textContent = panel.querySelector("h2, h1")?.textContent ?? "";
  }

  function begin() {
    hits = [...document.querySelectorAll(".hit")];
    chosen = -1;
    name = null;
    page.querySelector("main")?.setAttribute("tabindex", "-1");
  }

  // The current line: links to editor and host lead there, and the outline shows where it is.

  function atLine() {
    const line = Number(location.hash.match(/^#L(\d+)$/)?.[1] || 1);
    for (const link of document.querySelectorAll(".file a.outside")) {
      link.href = link.dataset.href.replace("{line}", line).replace("{column}", 1);
    }
    let around = null;
    for (const link of document.querySelectorAll(".outline a")) {
      link.removeAttribute("aria-current");
      if (Number(link.hash.slice(2)) <= line) around = link;
    }
    if (!around || !location.hash) return;
    around.setAttribute("aria-current", "location");
    const nav = around.closest(".outline");
    nav.scrollTop += around.getBoundingClientRect().top - nav.getBoundingClientRect().top - nav.clientHeight / 3;
  }

  // Names in code

  function rangeOf(code, start, end) {
    const range = document.createRange(), walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let at = 0, node; (node = walker.nextNode()); at += node.length) {
      if (start >= at && start < at + node.length) range.setStart(node, start - at);
      if (end > at && end <= at + node.length) { range.setEnd(node, end - at); return range; }
    }
    return null;
  }

  function namesOf(code) {
    if (code.textContent.length > LONGEST) return [];
    return [...code.textContent.matchAll(NAME)]
      .map((found) => ({ text: found[0], start: found.index, code, range: rangeOf(code, found.index, found.index + found[0].length) }))
      .filter((one) => one.range && !one.range.startContainer.parentElement.closest(".k, .s, .c, .n"));
  }

  function nameAt(event) {
    const code = event.target.closest?.("pre.code code");
    return code && namesOf(code).find(({ range }) => [...range.getClientRects()].some((r) =>
      event.clientX >= r.left && event.clientX <= r.right && event.clientY >= r.top && event.clientY <= r.bottom));
  }

  function targetOf(code, text) {
    return `${code.closest("pre").dataset.file}:${code.parentElement.querySelector(".number").textContent}:${text}`;
  }

  function showName({ code, text }) {
    const hit = code.closest(".hit");
    if (hit) mark(hits.indexOf(hit));
    show(withPanel("at", targetOf(code, text)), "push");
  }

  function selectName(step) {
    const line = document.querySelector(".line:target") || document.querySelector("pre.whole .line");
    const names = line ? namesOf(line.querySelector("code")) : [];
    if (!names.length) return;
    const at = name?.code === names[0].code ? names.findIndex((one) => one.start === name.start) + step : step > 0 ? 0 : names.length - 1;
    name = names[Math.max(0, Math.min(names.length - 1, at))];
    getSelection().removeAllRanges();
    getSelection().addRange(name.range);
  }

  function selectLine(step) {
    const lines = [...document.querySelectorAll("pre.whole .line")];
    const now = lines.findIndex((line) => line.matches(":target"));
    const line = lines[Math.max(0, Math.min(lines.length - 1, now + step))];
    if (line) { location.replace("#" + line.id); atLine(); }
  }

  function showUses() {
    const selection = getSelection(), code = selection.anchorNode?.parentElement?.closest("pre.code code");
    const text = selection.toString().trim();
    if (code && text && text.match(NAME)?.[0] === text) return showName({ code, text });
    if (hits.length && chosen < 0) choose(0);
    return hits[chosen]?.querySelector("a.uses")?.click();
  }

  // Hits

  function mark(place) {
    chosen = Math.max(0, Math.min(hits.length - 1, place));
    hits.forEach((hit, i) => hit.classList.toggle("chosen", i === chosen));
  }

  function choose(place) {
    if (!hits.length) return;
    mark(place);
    hits[chosen].focus({ preventScroll: true });
    hits[chosen].scrollIntoView({ block: "nearest" });
    const link = hits[chosen].querySelector("a.why");
    if (link && here().searchParams.has("why")) show(withPanel("why", targetIn(link)), "replace");
  }

  const targetIn = (link) => new URL(link.href).searchParams.get("target");

  async function showKeys() {
    let dialog = document.querySelector("dialog");
    if (!dialog) {
      const read = parsed((await fetched("/help")).text);
      dialog = document.createElement("dialog");
      dialog.append(...read.querySelector("main").childNodes);
      dialog.autofocus = true; // not its first link
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  }

  function follow(selector, within = document) {
    within?.querySelector(selector)?.click();
  }

  const keys = {
    "/": () => { box.focus(); box.select(); },
    j: () => (hits.length ? choose(chosen + 1) : selectLine(1)),
    k: () => (hits.length ? choose(chosen - 1) : selectLine(-1)),
    l: () => selectName(1),
    h: () => selectName(-1),
    r: showUses,
    o: () => follow("a.open", hits[chosen]),
    e: () => follow("a.editor", hits[Math.max(0, chosen)] || page),
    g: () => follow("a.host", hits[Math.max(0, chosen)] || page),
    w: () => {
      if (chosen < 0) choose(0);
      const link = hits[chosen]?.querySelector("a.why");
      if (link) show(withPanel("why", here().searchParams.get("why") === targetIn(link) ? "" : targetIn(link)), "push");
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
      else if (!panel.hidden) show(withPanel("at", ""), "push");
      return;
    }
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === "Enter") {
      if (event.target === hits[chosen]) keys.o();
      else if (!event.target.closest("a, button, summary") && !getSelection().isCollapsed) showUses();
      return;
    }
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  function inPanel(url) {
    // From the panel to a file: the panel stays, and so do the query and its filters.
    const now = here();
    for (const [key, value] of now.searchParams) {
      if (!["path", "repository", "offset"].includes(key)) url.searchParams.append(key, value);
    }
    if (now.pathname === "/" && now.searchParams.get("repository")) url.searchParams.set("only", now.searchParams.get("repository"));
    url.searchParams.delete("why");
    return url;
  }

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button) return;
    const link = event.target.closest("a");
    if (!link) {
      if (event.target.closest("button.close")) return void show(withPanel("at", ""), "push");
      const clicked = getSelection().isCollapsed && nameAt(event);
      if (clicked) showName(clicked);
      return;
    }
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.pathname === "/openapi.json") return;
    const hit = link.closest(".hit");
    event.preventDefault();
    if (link.matches("header a.help")) return void showKeys();
    if (hit) mark(hits.indexOf(hit));
    if (url.pathname === "/why" || url.pathname === "/name") {
      show(withPanel(url.pathname === "/why" ? "why" : "at", targetIn(link)), "push");
    } else if (pageOf(url) === shown[0] && url.hash) {
      location.hash = url.hash;
      atLine();
    } else show(panel.contains(link) && url.pathname === "/file" ? inPanel(url) : url, "push");
  });

  document.addEventListener("pointermove", (event) => {
    if (!globalThis.Highlight || !event.target.closest) return;
    const found = event.buttons ? null : nameAt(event);
    event.target.closest("pre.code code")?.classList.toggle("over", !!found);
    if (found) CSS.highlights.set("name", new Highlight(found.range));
    else CSS.highlights.delete("name");
  });

  // The form: a search in place, and while one types if the last one was quick

  function asked() {
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    return new URL("/?" + new URLSearchParams(given), location.origin);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    show(asked(), history.state?.typed ? "replace" : "push");
  });

  box.addEventListener("input", () => {
    clearTimeout(waiting);
    if (quick && box.value.trim().length > 1) {
      waiting = setTimeout(() => show(asked(), history.state?.typed ? "replace" : "push", true), PAUSE);
    }
  });

  document.addEventListener("change", (event) => {
    if (event.target.form === form && event.target !== box && box.value.trim()) form.requestSubmit();
  });

  addEventListener("popstate", () => {
    if (pageOf(location) === wanted[0] && panelOf(here()) === wanted[1]) atLine(); // only the line is another
    else show(here());
  });
  addEventListener("pagehide", () => history.replaceState({ ...history.state, scroll: scrollY }, ""));
  history.scrollRestoration = "manual";
  if (history.state?.scroll && !location.hash) scrollTo(0, history.state.scroll);
  begin();
  show(here());
})();
