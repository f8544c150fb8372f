/* What the invented platform knows: members, messages, and the events that tell of them, shaped as
   NapCat shapes them. It lives as long as the tab. */

const KEY = "arise-playground";
const MOST_LINES = 300;
const OWN_NAMES = { owner: "owner", admin: "admin", member: "member" };

const seconds = () => Math.floor(Date.now() / 1000);

export class World {
  constructor(config) {
    this.bot = config.bot;
    this.group = config.group;
    this.lines = [];
    this.members = config.members.map((name, index) => ({
      id: config.firstMember + index, name, role: index ? "member" : "owner", isIn: true,
    }));
    this.nextMember = config.firstMember + this.members.length;
    // By chance, so that nothing that is said after a new start looks like what was said before.
    this.nextId = 1e9 + Math.floor(Math.random() * 1e9);
    this.sequence = 0;
    this.restore();
  }

  /* Keeping. A browser keeps a few megabytes: pictures go first. */

  restore() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
      if (kept?.bot !== this.bot.id) return;
      Object.assign(this, kept.world);
      // A tab that was doubled gives no id that the other one gives.
      this.nextId += 1 + Math.floor(Math.random() * 1e6);
    } catch {
      sessionStorage.removeItem(KEY);
    }
  }

  keep() {
    this.lines = this.lines.slice(-MOST_LINES);
    const { lines, members, nextMember, nextId, sequence } = this;
    const write = (kept) => sessionStorage.setItem(KEY, JSON.stringify({
      bot: this.bot.id, world: { lines: kept, members, nextMember, nextId, sequence },
    }));
    try {
      write(lines);
    } catch {
      try {
        write(lines.map(withoutBytes));
      } catch {
        sessionStorage.removeItem(KEY);
      }
    }
  }

  static forget() {
    sessionStorage.removeItem(KEY);
  }

  /* People. */

  get present() {
    return this.members.filter((member) => member.isIn);
  }

  name(id) {
    if (id === this.bot.id) return this.bot.name;
    return this.members.find((member) => member.id === id)?.name ?? String(id);
  }

  join(name, role) {
    const member = { id: this.nextMember++, name, role: OWN_NAMES[role] ?? "member", isIn: true };
    this.members.push(member);
    return member;
  }

  /* Messages. A chat is `group:20001` or `private:10002`, as the console names it. */

  say(chat, sender, segments) {
    const line = {
      kind: "message", id: this.nextId++, chat, sender, segments,
      time: seconds(), sequence: ++this.sequence, recalled: false, reactions: [],
    };
    this.lines.push(line);
    return line;
  }

  tell(chat, text) {
    this.lines.push({ kind: "told", id: this.nextId++, chat, text, time: seconds() });
  }

  message(id) {
    return this.lines.find((line) => line.kind === "message" && line.id === Number(id));
  }

  /* Events. */

  event(postType, values) {
    return { time: seconds(), self_id: this.bot.id, post_type: postType, ...values };
  }

  messageEvent(line) {
    const [kind, place] = split(line.chat);
    const isOwn = line.sender === this.bot.id;
    const isGroup = kind === "group";
    const member = this.members.find((one) => one.id === line.sender);
    const sender = { user_id: line.sender, nickname: this.name(line.sender), card: "" };
    return this.event(isOwn ? "message_sent" : "message", {
      time: line.time,
      message_type: kind,
      sub_type: isGroup ? "normal" : "friend",
      message_id: line.id,
      message_seq: line.id,
      real_id: line.id,
      real_seq: String(line.sequence),
      user_id: line.sender,
      sender: isGroup ? { ...sender, role: member?.role ?? "member" } : sender,
      message: line.segments,
      message_format: "array",
      raw_message: textOf(line.segments),
      font: 14,
      target_id: place,
      ...(isGroup ? { group_id: place, group_name: this.group.name } : {}),
    });
  }

  notice(chat, type, values) {
    const [kind, place] = split(chat);
    const where = kind === "group" ? { group_id: place } : {};
    return this.event("notice", { notice_type: type, ...where, ...values });
  }

  pokeEvent(chat, actor, target) {
    const [kind, place] = split(chat);
    const who = kind === "group" ? { user_id: actor } : { user_id: place, sender_id: actor };
    return this.notice(chat, "notify", { sub_type: "poke", target_id: target, raw_info: [], ...who });
  }

  react(line, actor, emoji, isAdd) {
    const isSame = (one) => one.actor === actor && one.emoji === emoji;
    line.reactions = line.reactions.filter((one) => !isSame(one));
    if (isAdd) line.reactions.push({ actor, emoji });
    const count = line.reactions.filter((one) => one.emoji === emoji).length;
    return this.notice(line.chat, "group_msg_emoji_like", {
      user_id: actor, message_id: line.id, likes: [{ emoji_id: emoji, count }], is_add: isAdd,
    });
  }

  recall(line, operator) {
    line.recalled = true;
    const [kind, place] = split(line.chat);
    if (kind === "private") {
      return this.notice(line.chat, "friend_recall", { user_id: place, message_id: line.id });
    }
    return this.notice(line.chat, "group_recall", {
      user_id: line.sender, operator_id: operator, message_id: line.id,
    });
  }

  memberEvent(member, joined) {
    return this.notice(`group:${this.group.id}`, joined ? "group_increase" : "group_decrease", {
      sub_type: joined ? "approve" : "leave", user_id: member.id, operator_id: member.id,
    });
  }
}

export function split(chat) {
  const [kind, id] = chat.split(":");
  return [kind, Number(id)];
}

export function textOf(segments) {
  return segments.filter((one) => one.type === "text").map((one) => one.data.text).join("");
}

/* An emoji id as people see it: up to 3 digits a face of QQ, longer a code point. */
export function emojiOf(id) {
  const number = Number(id);
  const isPoint = String(id).length > 3 && number <= 0x10ffff;
  return isPoint ? String.fromCodePoint(number) : `[${id}]`;
}

/* A name for bytes, the same for the same; where pages are not served by https, browsers hash nothing. */
export function digest(bytes) {
  const sums = [0x811c9dc5, 0x01000193, 0x9e3779b9, 0x7f4a7c15];
  for (const byte of bytes) {
    for (let index = 0; index < sums.length; index++) {
      sums[index] = Math.imul(sums[index] ^ (byte + index), 0x01000193) >>> 0;
    }
  }
  return sums.map((sum) => sum.toString(16).padStart(8, "0")).join("").toUpperCase();
}

function withoutBytes(line) {
  if (line.kind !== "message") return line;
  const segments = line.segments.map((one) => {
    const { url, ...data } = one.data;
    return { ...one, data: data.file?.startsWith("base64://") ? { ...data, file: "" } : data };
  });
  return { ...line, segments };
}
