/* The playground's page: connects to the gateway as an implementation of OneBot does, and shows the
   group of whom one speaks. Nothing here is the bot's: it is at the other end of the socket. */

import { Refused, answer, described, failure, isSend, success } from "./answers.js";
import { World, digest, emojiOf, split, textOf } from "./world.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const config = read("playground-config");
const words = read("playground-words");
const root = document.querySelector("[data-playground]");
const part = (name) => root.querySelector(`[data-${name}]`);
const form = part("composer");
const field = (name) => form.elements.namedItem(name);
const log = part("log");
const world = new World(config);

const HEARTBEAT = 5000;
const TOLD_HEARTBEAT = 60000; // browsers let the timers of a hidden tab run once a minute
const LOOK = 1000;
const AGAIN = 1000;
const MOST_TRIES = 8;
const MOST_BYTES = 4 * 2 ** 20; // an event holds a picture once, and a frame may have 16 MiB
const REPLACED = 4000;
const WITHDRAWN = 4003;
const UNDER_WAY = new Set(["pending", "sending"]);
let socket = null;
let beat = 0;
let wasOpen = false;
let tries = 0;
let quoted = null;
let story = { chats: {}, turns: {}, notes: [] };

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/* The connection. */

function state(text, look) {
  const shown = part("state");
  shown.textContent = text;
  shown.className = `arise-label ${look}`;
}

function connect() {
  state(words.connecting, "busy");
  part("take-over").hidden = true;
  const address = new URL(config.socket, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const own = new WebSocket(address);
  socket = own;
  own.addEventListener("open", () => {
    wasOpen = true;
    tries = 0;
    state(words.connected, "good");
    write(world.event("meta_event", { meta_event_type: "lifecycle", sub_type: "connect" }));
    beat = setInterval(() => write(world.event("meta_event", {
      meta_event_type: "heartbeat", status: { online: true, good: true }, interval: TOLD_HEARTBEAT,
    })), HEARTBEAT);
  });
  own.addEventListener("message", (event) => {
    if (own === socket) take(JSON.parse(event.data));
  });
  own.addEventListener("close", (event) => closed(own, event.code));
}

function closed(own, code) {
  if (own !== socket) return;
  clearInterval(beat);
  socket = null;
  if (code === REPLACED) {
    state(words.replaced, "warn");
    part("take-over").hidden = false;
  } else if (code === WITHDRAWN) {
    state(words.withdrawn, "bad");
  } else if (!wasOpen || tries === MOST_TRIES) {
    state(words.refused, "bad");
  } else {
    state(words.lost, "warn");
    setTimeout(connect, AGAIN * 2 ** tries++);
  }
}

function write(frame) {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(frame));
  return true;
}

/* What the bot asks for. */

function take(call) {
  if (typeof call?.action !== "string") return;
  const fault = isSend(call.action) ? field("fault").value : "";
  if (fault) field("fault").value = "";
  if (fault === "error" || fault === "silent") {
    fail(call, fault);
    return;
  }
  try {
    const done = answer(world, words, call.action, call.params);
    if (done.told) world.tell(done.told.chat, done.told.text);
    const finish = () => {
      write(success(call, done.data));
      done.events.forEach(write);
    };
    if (fault === "late") {
      world.tell(done.said.chat, filled(words.fault_late, { what: described(call.action, call.params) }));
      setTimeout(finish, config.lateSeconds * 1000);
    } else {
      finish();
    }
    if (!call.action.startsWith("get_")) changed();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    write(failure(call, error.retcode, error.message));
  }
}

function fail(call, fault) {
  const what = described(call.action, call.params);
  const chat = call.params?.group_id ? `group:${call.params.group_id}` : `private:${call.params?.user_id}`;
  world.tell(chat, filled(words[`fault_${fault}`], { what }));
  if (fault === "error") write(failure(call, 1200, '发送失败 {"result": 120, "errMsg": "你已被禁言"}'));
  changed();
}

/* What people do. */

const speaker = () => Number(field("speaker").value);
const place = () => field("place").value;
const isGroup = () => place().startsWith("group:");

function happen(event) {
  follows = true;
  if (!write(event)) world.tell(place(), words.not_connected);
  changed();
}

function say(segments) {
  const before = quoted ? [{ type: "reply", data: { id: String(quoted) } }] : [];
  const mention = isGroup() && field("mention").checked;
  const at = mention ? [{ type: "at", data: { qq: String(world.bot.id), name: world.bot.name } }] : [];
  if (mention && segments[0]?.type === "text") segments[0].data.text = ` ${segments[0].data.text}`;
  quote(null);
  happen(world.messageEvent(world.say(place(), speaker(), [...before, ...at, ...segments])));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = field("words").value.trim();
  if (!text && !field("mention").checked) return;
  field("words").value = "";
  say(text ? [{ type: "text", data: { text } }] : []);
  field("words").focus();
});

field("words").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

/* On the way down: the theme's own script listens to every file field, and expects a text field beside. */
form.addEventListener("change", (event) => {
  if (event.target.type !== "file") return;
  event.stopPropagation();
  sayPicture(event.target);
}, { capture: true });

async function sayPicture(chosen) {
  const [file] = chosen.files;
  if (!file) return;
  const bytes = new Uint8Array(await file.arrayBuffer());
  chosen.value = "";
  if (bytes.length > MOST_BYTES) {
    world.tell(place(), words.too_large);
    changed();
    return;
  }
  const isSticker = chosen.name === "sticker";
  const ending = file.type.split("/")[1] || "png";
  say([{
    type: "image",
    data: {
      summary: isSticker ? "[动画表情]" : "",
      file: `${digest(bytes)}.${ending}`,
      sub_type: isSticker ? 1 : 0,
      url: `base64://${encoded(bytes)}`,
      file_size: String(bytes.length),
    },
  }]);
}

part("poke").addEventListener("click", () => {
  const event = world.pokeEvent(place(), speaker(), world.bot.id);
  world.tell(place(), filled(words.poked, { who: world.name(speaker()), whom: world.bot.name }));
  happen(event);
});

part("join").addEventListener("click", () => {
  const name = field("member").value.trim();
  if (!name) {
    field("member").focus();
    return;
  }
  field("member").value = "";
  const member = world.join(name, field("role").value);
  const chat = `group:${world.group.id}`;
  world.tell(chat, filled(words.joined, { who: name }));
  choices(member.id);
  happen(world.memberEvent(member, true));
});

part("leave").addEventListener("click", () => {
  if (world.present.length < 2) return;
  const member = world.members.find((one) => one.id === speaker());
  member.isIn = false;
  world.tell(`group:${world.group.id}`, filled(words.left, { who: member.name }));
  choices();
  happen(world.memberEvent(member, false));
});

part("unquote").addEventListener("click", () => quote(null));
part("take-over").addEventListener("click", connect);
document.querySelector("[data-forget]")?.addEventListener("submit", () => World.forget());

function quote(line) {
  quoted = line?.id ?? null;
  part("quoting").hidden = !line;
  if (line) {
    part("quoting").querySelector("bdi").textContent = filled(words.quoting, { words: summary(line) });
    field("words").focus();
  }
}

const ACTS = {
  react(line) {
    const emoji = field("emoji").value;
    const isThere = line.reactions.some((one) => one.actor === speaker() && one.emoji === emoji);
    happen(world.react(line, speaker(), emoji, !isThere));
  },
  quote,
  recall: (line) => happen(world.recall(line, line.sender)),
};

log.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  const line = button && world.message(button.closest("[data-line]").dataset.line);
  if (line) ACTS[button.dataset.act](line);
});

/* What is shown. Lines are made once and changed in place, so that the focus stays where it is. */

function choices(chosen) {
  const speaking = field("speaker");
  const before = chosen ?? Number(speaking.value);
  speaking.replaceChildren(...world.present.map((member) => make("option", {
    value: member.id,
    text: member.role === "member" ? member.name : `${member.name} (${words[member.role]})`,
    selected: member.id === before,
  })));
  places();
}

function places() {
  const where = field("place");
  const wasPrivate = where.value.startsWith("private:");
  where.replaceChildren(
    make("option", { value: `group:${world.group.id}`, text: words.in_group }),
    make("option", {
      value: `private:${speaker()}`, selected: wasPrivate,
      text: filled(words.private_with, { who: world.bot.name }),
    }),
  );
  moved();
}

function moved() {
  field("mention").disabled = !isGroup();
  quote(null);
  changed();
}

field("speaker").addEventListener("change", places);
field("place").addEventListener("change", moved);

/* The newest line stays in sight until somebody scrolls back, and again once he speaks. */
let follows = true;
const toEnd = () => { if (follows) log.scrollTop = log.scrollHeight; };
log.addEventListener("scroll", () => {
  follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
}, { passive: true });
new ResizeObserver(toEnd).observe(log);

function changed() {
  world.keep();
  show();
}

function show() {
  const wanted = laidOut();
  const keys = new Set(wanted.map((one) => one.key));
  for (const shown of [...log.children]) if (!keys.has(shown.dataset.key)) shown.remove();
  wanted.forEach((one, index) => {
    let shown = log.children[index];
    if (shown?.dataset.key !== one.key) {
      const moved = [...log.children].find((other) => other.dataset.key === one.key);
      const fresh = moved ?? make("div", { "data-key": one.key });
      log.insertBefore(fresh, shown ?? null);
      shown = fresh;
    }
    const look = JSON.stringify(one.look);
    if (shown.dataset.look === look) return;
    shown.dataset.look = look;
    one.draw(shown);
  });
  toEnd();
  const chat = story.chats[place()];
  part("learns").replaceChildren(...(chat ? [
    chat.learns ? words.learns : words.learns_not, " ",
    make("a", { class: "arise-link", href: chat.url, text: words.chat_page }),
  ] : []));
}

/* The lines of the chosen chat, and behind each the notes that are about it; at the end those that are
   about the newest. */
function laidOut() {
  const lines = world.lines.filter((line) => line.chat === place());
  const notes = lacking(story.notes.filter((note) => note.chat === place()), lines);
  const behind = new Map(notes.map((note) => [note, lineOf(note, lines)]));
  const found = [];
  for (const line of lines) {
    found.push(line.kind === "told" ? told(line) : message(line));
    found.push(...notes.filter((note) => behind.get(note) === line).map(noted));
  }
  const loose = notes.filter((note) => !behind.get(note)
    && (note.state === "unknown" || (!note.at && lines.length)));
  const laid = [...found, ...loose.slice(-6).map(noted)];
  return laid.length ? laid : [hint(isGroup() ? words.hint_group : words.hint_private)];
}

/* The line that a note stands behind: the message that it is about; of what leaves none, as a poke, the
   line that told of it in the same second, or else what was there by then. */
function lineOf(note, lines) {
  if (note.after) return lines.find((line) => String(line.id) === note.after);
  if (!note.at) return undefined;
  const isTold = (line) => line.kind === "told" && line.time <= note.at && line.time > note.at - 2;
  return lines.findLast(isTold) ?? lines.findLast((line) => line.time <= note.at);
}

/* The notes without those of messages that are here already, of which the site learns a moment later. */
function lacking(notes, lines) {
  const own = lines.filter((line) => line.kind === "message" && line.sender === world.bot.id);
  const last = own.findLastIndex((line) => story.turns[String(line.id)]);
  let here = own.length - 1 - last;
  return notes.filter((note) => !(note.key.startsWith("entry-") && UNDER_WAY.has(note.state) && here-- > 0));
}

/* What to do, where nothing was said yet. */
const hint = (text) => ({
  key: "hint", look: text,
  draw: (shown) => {
    shown.className = "playground-told";
    shown.replaceChildren(text);
  },
});

const told = (line) => ({
  key: `told-${line.id}`, look: line.text,
  draw: (shown) => {
    shown.className = "playground-told";
    shown.replaceChildren(make("bdi", { text: line.text }));
  },
});

const noted = (note) => ({
  key: note.key, look: [note.text, note.state, note.url],
  draw: (shown) => {
    shown.className = "playground-note";
    const label = make("span", { class: `playground-dot ${note.state}` });
    shown.replaceChildren(label, make("bdi", { text: note.text }), " ",
      make("a", { class: "arise-link", href: note.url, text: words.decision }));
  },
});

function message(line) {
  const turn = story.turns[String(line.id)];
  const isOwn = line.sender === world.bot.id;
  return {
    key: `line-${line.id}`,
    look: [line.recalled, line.reactions, turn?.url, isGroup()],
    draw: (shown) => {
      shown.className = `playground-line${isOwn ? " own" : ""}${line.recalled ? " recalled" : ""}`;
      shown.dataset.line = line.id;
      if (!shown.firstChild) shown.append(...lineParts(line, isOwn));
      const part = (name) => shown.querySelector(`.playground-${name}`);
      part("recall").replaceChildren(...(line.recalled ? [
        make("span", { class: "arise-label recalled", text: words.recalled }),
      ] : []));
      part("told-of").replaceChildren(...reactions(line), ...(turn ? [
        make("a", { class: "arise-link", href: turn.url, text: turn.text }),
      ] : []));
      offer(part("acts"), line.recalled ? [] : [isGroup() && "react", "quote", !isOwn && "recall"].filter(Boolean));
    },
  };
}

/* What of a line never changes, and the places of what does. */
function lineParts(line, isOwn) {
  const head = make("p", { class: "playground-head" }, make("bdi", { text: world.name(line.sender) }));
  if (isOwn) head.append(" ", make("span", { class: "arise-label", text: words.bot }));
  head.append(" ", make("span", { class: "playground-recall" }));
  const feet = make("p", { class: "playground-feet" });
  feet.append(make("span", { class: "playground-told-of" }), make("span", { class: "playground-acts" }));
  return [head, make("div", { class: "playground-body" }, ...line.segments.map(drawn)), feet];
}

function reactions(line) {
  return [...new Set(line.reactions.map((one) => one.emoji))].map((emoji) => {
    const who = line.reactions.filter((one) => one.emoji === emoji);
    return make("span", {
      class: "playground-reaction", title: who.map((one) => world.name(one.actor)).join(", "),
      text: `${emojiOf(emoji)} ${who.length}`,
    });
  });
}

/* Buttons stay the same elements: one that is being pressed must not go from under the finger. */
function offer(place, acts) {
  for (const button of [...place.children]) if (!acts.includes(button.dataset.act)) button.remove();
  acts.forEach((act, index) => {
    if (place.children[index]?.dataset.act === act) return;
    const button = make("button", { type: "button", "data-act": act, text: words[act] });
    place.insertBefore(button, place.children[index] ?? null);
  });
}

function drawn(segment) {
  const data = segment.data ?? {};
  switch (segment.type) {
    case "text": return make("span", { class: "arise-words", text: data.text });
    case "at": return make("bdi", { class: "playground-at", text: `@${data.qq === "all" ? "all" : world.name(Number(data.qq))} ` });
    case "face": return make("span", { text: emojiOf(data.id) });
    case "reply": {
      const line = world.message(data.id);
      return make("blockquote", { text: `${words.quotes} ${line ? summary(line) : words.gone}` });
    }
    case "image": return picture(data, Number(data.sub_type) === 1 ? words.sticker : words.picture);
    case "mface": return make("span", { text: `[${words.sticker}] ${data.summary ?? ""}` });
    case "record": return make("span", { text: `[${words.voice}]` });
    case "file": return make("span", { text: `[${filled(words.file, { name: data.name ?? data.file })}]` });
    default: return make("span", { text: `[${segment.type}]` });
  }
}

function summary(line) {
  const text = textOf(line.segments).trim();
  const other = line.segments.some((one) => one.type === "image") ? `[${words.picture}]` : "…";
  return `${world.name(line.sender)}: ${(text || other).slice(0, 60)}`;
}

/* Drawn on a canvas: the site's policy lets pages show pictures of the site alone, and there is none
   behind these. */
function picture(data, name) {
  const source = [data.url, data.file].find((one) => one?.startsWith("base64://"));
  if (!source) return make("span", { text: `[${name}]` });
  const canvas = make("canvas", { role: "img", "aria-label": name, width: 1, height: 1, class: "playground-picture" });
  createImageBitmap(new Blob([decoded(source.slice("base64://".length))])).then((bitmap) => {
    const scale = Math.min(1, 480 / Math.max(bitmap.width, bitmap.height));
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    canvas.dataset.drawn = "";
    toEnd();
  }, () => canvas.replaceWith(make("span", { text: `[${name}: ${words.no_picture}]` })));
  return canvas;
}

function encoded(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

const decoded = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/* What became of it, asked once a second while somebody looks. */

async function look() {
  try {
    if (document.hidden || !socket) return;
    const found = await fetch(config.state, { cache: "no-store", redirect: "error" });
    if (found.ok) {
      story = await found.json();
      show();
    }
  } catch {
    // The socket's own state says what is wrong.
  } finally {
    setTimeout(look, LOOK);
  }
}

choices();
connect();
look();
