// The pages work without this file. It adds local times, times that stay
// relative, a copy button beside each command, live updates and keys.
"use strict";
(() => {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const utc = (t) => t.toISOString().slice(0, 19).replace("T", " ") + " UTC";
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

  function relative(t, now) {
    const gap = Math.round((t - now) / 1000), n = Math.abs(gap);
    if (n < 1) return "now";
    const [unit, size] = units.find(([, size]) => n >= size);
    const text = Math.floor(n / size) + " " + unit;
    return gap > 0 ? "in " + text : text + " ago";
  }

  function times(root) {
    const now = Date.now();
    for (const el of root.querySelectorAll("time[datetime]")) {
      const t = new Date(el.dateTime);
      if (isNaN(t)) continue;
      if (!el.dataset.local) {
        el.dataset.local = local.format(t);
        el.title = [...new Set([el.title, utc(t), el.dataset.local])].join("\n");
      }
      if (el.dataset.relative !== undefined) {
        const text = relative(t, now);
        if (el.textContent !== text) el.textContent = text;
      }
    }
  }

  function copies(root) {
    for (const code of root.querySelectorAll(".cli code")) {
      if (code.nextElementSibling) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy the command " + code.textContent);
      code.after(button);
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".cli button");
    if (!button) return;
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    } catch {
      getSelection().selectAllChildren(code); // the clipboard needs a secure page
    }
  });

  // Live updates: the API says every two seconds whether runs changed, and the page looks
  // again. Only what differs is changed, so that focus, scroll and what is typed stay.
  // Without an answer of the API the page looks every few seconds.
  const live = document.getElementById("live");
  const still = document.querySelector("main[data-still]");
  let etag = "", failures = 0, looking = false, position = "", looked = Date.now(), due = looked + 3000;
  const on = () => !still && live.getAttribute("aria-pressed") === "true" && !document.hidden;
  const busy = () => document.querySelector("dialog[open]") || !getSelection().isCollapsed;

  async function refresh() {
    if (!on() || looking || busy()) return;
    looking = true;
    looked = Date.now();
    due = looked + (position ? 15000 : 3000);
    try {
      const answer = await fetch(location.href, { headers: { "If-None-Match": etag }, cache: "no-store" });
      if (answer.status !== 304) {
        if (!answer.ok) throw new Error(answer.statusText);
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (busy()) return;
        etag = answer.headers.get("ETag") || "";
        show(next);
      }
      failures = 0;
    } catch {
      failures++;
    } finally {
      looking = false;
    }
    live.firstChild.textContent = failures > 1 ? "Not connected" : "Live";
  }

  function show(next) {
    ready(next);
    document.title = next.title;
    const icon = document.querySelector("link[rel=icon]"), now = next.querySelector("link[rel=icon]").getAttribute("href");
    if (icon.getAttribute("href") !== now) icon.href = now;
    morph(document.querySelector(".brand"), next.querySelector(".brand"));
    morph(document.querySelector("main"), next.querySelector("main"));
  }

  // morph makes an element like another one of the same name. Forms stay as they are.
  function morph(old, next) {
    if (old.nodeName === "FORM" || old.isEqualNode(next)) return;
    for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const rows = new Map(), rest = [];
    for (const child of old.childNodes) rowKey(child) ? rows.set(rowKey(child), child) : rest.push(child);
    let at = old.firstChild;
    for (const child of [...next.childNodes]) {
      let same = rows.get(rowKey(child));
      if (same) rows.delete(rowKey(child));
      else if (!rowKey(child) && rest.length && rest[0].nodeName === child.nodeName) same = rest.shift();
      else same = child;
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      if (same === child) continue;
      if (same.nodeType === Node.ELEMENT_NODE) morph(same, child);
      else if (same.data !== child.data) same.data = child.data;
    }
    for (const gone of [...rows.values(), ...rest]) gone.remove();
  }

  // rowKey names a row by what it is about, so that the focus stays with that.
  const rowKey = (node) => (node.nodeName === "TR" && node.querySelector("td a[href]")?.getAttribute("href")) || "";

  async function follow() {
    const changes = document.documentElement.dataset.changes;
    if (!on() || !changes) return;
    try {
      const answer = await fetch(changes + (position && "?after=" + encodeURIComponent(position)), { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const got = await answer.json();
      position = got.position;
      if (got.lost || got.runs.length) due = Math.min(due, looked + 2000);
    } catch {
      position = "";
    }
  }

  function ready(root) { times(root); copies(root); }

  // The browser's own zone is one of those to choose.
  const zones = document.getElementById("zone"), own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (own && own !== "UTC") {
    const mine = [...zones.options].find((o) => o.value === own) || zones.insertBefore(new Option(own, own), zones.options[1]);
    mine.textContent = "mine: " + own;
  }

  ready(document);
  const first = document.querySelector("[data-focus]"); // not where the focus would hide the preview above it
  if (first && !matchMedia("(pointer: coarse)").matches && first.getBoundingClientRect().bottom < innerHeight) first.focus();
  live.hidden = !!still;
  live.addEventListener("click", () => {
    live.setAttribute("aria-pressed", live.getAttribute("aria-pressed") !== "true");
    refresh();
  });
  document.addEventListener("visibilitychange", refresh);
  setInterval(() => {
    times(document);
    if (Date.now() >= due) refresh();
  }, 1000);
  setInterval(follow, 2000);

  // Keys: g and a letter goes to a page, / to the search box, ? shows them.
  let leader = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    if (event.key === "?") return document.getElementById("keys").showModal();
    if (event.key === "z") return zones.focus();
    if (event.key === "/") {
      const field = document.getElementById("find");
      event.preventDefault();
      field.focus();
      field.select();
      return;
    }
    if (event.key === "g") { leader = Date.now(); return; }
    if (Date.now() - leader < 1500) [...document.querySelectorAll("nav.main a")].find((a) => a.dataset.key === event.key)?.click();
    leader = 0;
  });
})();
