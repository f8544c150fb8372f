/* What the invented platform answers to calls of the bot, and what they do in its world. */

import { emojiOf, textOf } from "./world.js";

const APP = { app_name: "arise-playground", app_version: "1.0.0", protocol_version: "v11" };
const KNOWN_SEGMENTS = ["text", "at", "face", "reply", "image", "mface", "record", "video", "file", "json"];

export class Refused extends Error {
  constructor(retcode, message) {
    super(message);
    this.retcode = retcode;
  }
}

/* {data, events, said?, told?}; throws Refused: 1404 no such action, 1400 bad parameters, 1200 else. */
export function answer(world, words, action, params) {
  if (!Object.hasOwn(ACTIONS, action)) throw new Refused(1404, `不支持的Api ${action}`);
  return { data: null, events: [], ...ACTIONS[action](world, params ?? {}, words) };
}

export const isSend = (action) => /^(send_(group_|private_)?msg|upload_(group|private)_file)$/.test(action);

export const success = (call, data) => ({
  status: "ok", retcode: 0, data, message: "", wording: "", echo: call.echo, stream: "normal-action",
});

export const failure = (call, retcode, message) => ({
  status: "failed", retcode, data: null, message, wording: message, echo: call.echo,
});

function number(params, name) {
  const value = params[name];
  if (!["string", "number"].includes(typeof value) || value === "" || Number.isNaN(Number(value))) {
    throw new Refused(1400, `data must have required property '${name}'`);
  }
  return Number(value);
}

function message(world, params) {
  const line = world.message(number(params, "message_id"));
  if (!line) throw new Refused(1200, "消息不存在");
  return line;
}

const groupChat = (world, params) => {
  const id = number(params, "group_id");
  if (id !== world.group.id) throw new Refused(1200, "机器人不在该群");
  return `group:${id}`;
};
const privateChat = (_world, params) => `private:${number(params, "user_id")}`;
const chatOf = (world, params) => (params.group_id ? groupChat : privateChat)(world, params);

function send(chat) {
  return (world, params) => {
    const given = typeof params.message === "string"
      ? [{ type: "text", data: { text: params.message } }] : params.message;
    if (!Array.isArray(given) || !given.length || given.some((one) => !KNOWN_SEGMENTS.includes(one?.type))) {
      throw new Refused(1200, "消息体无法解析, 请检查是否发送了不支持的消息类型");
    }
    const said = world.say(chat(world, params), world.bot.id, given);
    return { data: { message_id: said.id }, said, events: [world.messageEvent(said)] };
  };
}

function history(chat) {
  return (world, params) => {
    const place = chat(world, params);
    const start = Number(params.message_seq ?? params.message_id ?? 0);
    const found = world.lines.filter(
      (line) => line.kind === "message" && line.chat === place && !line.recalled,
    );
    const last = start ? found.findLastIndex((line) => line.id === start) + 1 : found.length;
    const count = Math.max(1, Number(params.count ?? 20));
    const messages = found.slice(Math.max(0, last - count), last);
    return { data: { messages: messages.map((line) => world.messageEvent(line)) } };
  };
}

function upload(chat) {
  return (world, params) => {
    const name = String(params.name ?? "file");
    const said = world.say(chat(world, params), world.bot.id, [
      { type: "file", data: { file: name, file_id: `/playground-${world.nextId}`, file_size: "0" } },
    ]);
    return { data: { file_id: said.segments[0].data.file_id }, said, events: [world.messageEvent(said)] };
  };
}

function poke(world, params, words) {
  const target = number(params, "user_id");
  const chat = chatOf(world, params);
  const told = words.poked.replace("{who}", world.bot.name).replace("{whom}", world.name(target));
  return { events: [world.pokeEvent(chat, world.bot.id, target)], told: { chat, text: told } };
}

function memberInfo(world, member) {
  return {
    group_id: world.group.id, user_id: member.id, nickname: member.name, card: "",
    role: member.role, shut_up_timestamp: 0, is_robot: false,
  };
}

const botMember = (world) => ({ id: world.bot.id, name: world.bot.name, role: "member" });

function member(world, params) {
  const id = number(params, "user_id");
  const found = id === world.bot.id ? botMember(world) : world.present.find((one) => one.id === id);
  if (!found) throw new Refused(1200, "群成员不存在");
  return { data: memberInfo(world, found) };
}

const groupInfo = (world) => ({
  group_id: world.group.id, group_name: world.group.name,
  member_count: world.present.length + 1, max_member_count: 200, group_all_shut: 0,
});

const constant = (data) => () => ({ data });

const ACTIONS = {
  get_version_info: constant(APP),
  get_status: constant({ online: true, good: true }),
  can_send_image: constant({ yes: true }),
  can_send_record: constant({ yes: true }),
  mark_msg_as_read: constant(null),
  get_login_info: (world) => ({ data: { user_id: world.bot.id, nickname: world.bot.name } }),
  get_group_list: (world) => ({ data: [groupInfo(world)] }),
  get_group_info: (world, params) => groupChat(world, params) && { data: groupInfo(world) },
  get_group_member_list: (world, params) => groupChat(world, params) && {
    data: [botMember(world), ...world.present].map((one) => memberInfo(world, one)),
  },
  get_group_member_info: (world, params) => groupChat(world, params) && member(world, params),
  get_friend_list: (world) => ({
    data: world.members.map((one) => ({ user_id: one.id, nickname: one.name, remark: "" })),
  }),
  get_stranger_info: (world, params) => {
    const id = number(params, "user_id");
    return { data: { user_id: id, nickname: world.name(id) } };
  },
  get_msg: (world, params) => {
    const line = message(world, params);
    if (line.recalled) throw new Refused(1200, "消息不存在");
    return { data: world.messageEvent(line) };
  },
  get_group_msg_history: history(groupChat),
  get_friend_msg_history: history(privateChat),
  send_group_msg: send(groupChat),
  send_private_msg: send(privateChat),
  send_msg: send((world, params) => (
    params.message_type === "group" || params.user_id === undefined ? groupChat : privateChat
  )(world, params)),
  upload_group_file: upload(groupChat),
  upload_private_file: upload(privateChat),
  delete_msg: (world, params) => {
    const line = message(world, params);
    if (line.recalled || line.sender !== world.bot.id) throw new Refused(1200, "Recall failed");
    return { events: [world.recall(line, world.bot.id)] };
  },
  group_poke: poke,
  friend_poke: poke,
  send_poke: poke,
  set_msg_emoji_like: (world, params) => {
    const line = message(world, params);
    const event = world.react(line, world.bot.id, String(number(params, "emoji_id")), params.set !== false);
    return { data: { result: 0 }, events: [event] };
  },
  send_like: (world, params, words) => {
    const whom = world.name(number(params, "user_id"));
    const text = words.liked.replace("{who}", world.bot.name).replace("{whom}", whom);
    return { told: { chat: `group:${world.group.id}`, text } };
  },
};

/* One line for whoever watches: what a call would have done. */
export function described(action, params) {
  const words = Array.isArray(params?.message) ? textOf(params.message) : "";
  return words || (params?.emoji_id ? emojiOf(params.emoji_id) : "") || action;
}
