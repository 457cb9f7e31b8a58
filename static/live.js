// Keeps a page current without taking it away from its reader. The page works
// without this file; with it, ages grow by the second and new scores are morphed in.

const VISIBLE = 5_000; // ms between two looks while the tab is seen
const HIDDEN = 60_000;
const LONGEST = 120_000;

const announcer = document.getElementById("announce");
const connection = document.getElementById("connection");
const pauseButton = document.getElementById("pause");

let timer = 0;
let failures = 0;
let stopped = false;
let paused = sessionStorage.getItem("paused") === "yes";
let waiting = false; // something new is there, and the reader holds the page
let skew = 0; // ms that this clock is ahead of the server's
let wasStale = null;

const freshness = () => document.getElementById("freshness");

function say(text) {
  announcer.textContent = text;
}

function lasting(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (big, bigName, small, smallName) => {
    const rest = Math.floor((whole % big) / small);
    const head = `${Math.floor(whole / big)} ${bigName}`;
    return rest ? `${head} ${rest} ${smallName}` : head;
  };
  if (whole < 120) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) return two(3_600, "h", 60, "min");
  return two(86_400, "d", 3_600, "h");
}

function secondsSince(iso) {
  return (Date.now() - skew - Date.parse(iso)) / 1_000;
}

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function measureSkew() {
  const sent = Number(freshness()?.dataset.now);
  // what the server wrote a moment ago; the way here makes it a little older
  if (sent) skew = Date.now() - sent * 1_000;
}

function grow() {
  for (const time of document.querySelectorAll("time.age")) {
    put(time, lasting(secondsSince(time.dateTime)));
  }
  const shown = freshness();
  const age = shown?.querySelector("time.age");
  if (!age) return;
  const old = secondsSince(age.dateTime);
  const due = shown.querySelector(".due");
  const left = Number(shown.dataset.interval) - old;
  if (due) put(due, left > 0 ? `in ${lasting(Math.ceil(left))}` : "due");
  const stale = old > Number(shown.dataset.staleAfter);
  shown.classList.toggle("is-stale", stale);
  document.getElementById("live")?.classList.toggle("is-stale", stale);
  if (wasStale !== null && stale !== wasStale) {
    say(stale ? "The scores are stale." : "The scores are current again.");
  }
  wasStale = stale;
}

function held() {
  const selection = document.getSelection();
  const selecting = selection && !selection.isCollapsed;
  return paused || selecting;
}

function refresh() {
  waiting = false;
  const live = document.getElementById("live");
  if (live) live.dispatchEvent(new CustomEvent("refresh"));
}

function trouble(text, link) {
  connection.replaceChildren(text);
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = link.href;
    anchor.textContent = link.text;
    connection.append(" ", anchor);
  }
  if (connection.hidden) say(text);
  connection.hidden = false;
}

function stop() {
  stopped = true;
  const next = encodeURIComponent(location.pathname + location.search);
  trouble("You are logged out, so this page no longer changes.", {
    href: `/login?next=${next}`,
    text: "Log in",
  });
}

async function look() {
  const shown = freshness();
  const url = `${shown.dataset.poll}?v=${encodeURIComponent(shown.dataset.version)}`;
  const answer = await fetch(url, {
    cache: "no-store",
    headers: { Accept: "application/json" },
    signal: AbortSignal.timeout(10_000),
  });
  // a redirect leads to a page that asks for something first
  if (answer.status === 401 || answer.status === 403 || answer.redirected) return stop();
  if (answer.status !== 200 && answer.status !== 204) throw new Error(answer.status);
  failures = 0;
  connection.hidden = true;
  if (answer.status === 200) waiting = true;
  if (waiting && !held()) refresh();
}

async function poll() {
  clearTimeout(timer);
  if (stopped) return;
  try {
    await look();
  } catch {
    failures += 1;
    const since = new Date().toISOString().slice(11, 19);
    if (failures === 2) {
      trouble(`No answer from Bandmaster since ${since} UTC: what you see is the last state that came.`);
    }
  }
  plan();
}

function plan() {
  clearTimeout(timer);
  if (stopped) return;
  const base = document.hidden ? HIDDEN : VISIBLE;
  const backoff = Math.min(LONGEST, base * 2 ** Math.min(failures, 6));
  const jitter = failures ? 0.5 + Math.random() : 0.9 + Math.random() * 0.2;
  timer = setTimeout(poll, backoff * jitter);
}

function showPause() {
  pauseButton.setAttribute("aria-pressed", String(paused));
  put(pauseButton, paused ? "Paused: resume" : "Pause");
}

pauseButton.addEventListener("click", () => {
  paused = !paused;
  sessionStorage.setItem("paused", paused ? "yes" : "no");
  showPause();
  say(paused ? "Updates are paused." : "Updates go on.");
  if (!paused) poll();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) plan();
  else poll();
});

// an error page or a login page must not take the place of the last good content
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx.select !== "#live" || ctx.text.includes('id="live"')) return;
  event.preventDefault();
  const status = ctx.response?.raw?.status ?? ctx.response?.status ?? "";
  trouble(`The page could not be brought up to date (${status}): what you see is the last state that came.`);
});

document.addEventListener("htmx:after:swap", () => {
  measureSkew();
  grow();
});

// a menu closes when somebody looks elsewhere
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

if (freshness()) {
  pauseButton.hidden = false;
  showPause();
  measureSkew();
  grow();
  setInterval(grow, 1_000);
  plan();
}
