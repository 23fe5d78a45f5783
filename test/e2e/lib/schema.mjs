// Every frame mcpx sent, validated against the official schema of the revision in use: by the schema
// itself, and by the rule of strict.mjs, which closes what the schema leaves open.
//
// Definitions are found by data: a request or notification by its `method` constant, a result by the
// request's definition with "Result" for "Request".
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { npmDir, root, specDir } from './paths.mjs';
import { namesIn, Strict } from './strict.mjs';
import { TASK_DEFINITIONS } from './task_schema.mjs';

// Of extensions that mcpx speaks itself, whoever asked (SEP-2640); no schema of a revision has them.
const OWN_EXTENSION_METHODS = new Set(['skills/list', 'skills/get', 'resources/directory/read']);

// Of a filter, in the extension of tasks; and what the schema of 2025-11-25 puts together of two definitions.
const TASK_MEMBERS = ['taskIds', 'taskId', 'status', 'statusMessage', 'createdAt', 'lastUpdatedAt', 'ttl',
  'pollInterval'];
const TASK_RESULTS = { 'tasks/get': 'Task', 'tasks/cancel': 'Task', 'tasks/result': 'CallToolResult' };

// The conformance suite's packages have it too, when it runs alone.
const require = createRequire(path.join([npmDir, path.join(root, 'test/conformance/node_modules')]
  .find((dir) => existsSync(path.join(dir, 'ajv'))) ?? npmDir, 'package.json'));
const EMPTY = new Set(['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']);
const ERRORS = { '-32020': 'HeaderMismatchError', '-32021': 'MissingRequiredClientCapabilityError',
  '-32022': 'UnsupportedProtocolVersionError', '-32042': 'URLElicitationRequiredError' };

// Beyond that many frames of one daemon, those that differ only in values are looked at once.
const EACH = 2_000;

// The codes that one revision or era has to itself.
const CODES = new Map([[-32002, (r) => r < '2026'], [-32042, (r) => r === '2025-11-25'],
  [-32020, (r) => r > '2026'], [-32021, (r) => r > '2026'], [-32022, (r) => r > '2026']]);
export const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

export class Schemas {
  static #loaded;
  static load() { return this.#loaded ??= new Schemas(specDir()); }

  constructor(dir) {
    this.revisions = new Map(REVISIONS.map((name) => [name, new Revision(dir, name)]));
    this.strict = new Strict(this.revisions);
  }

  // `frames`: {text, from, revision, channel, status?}, in order. Those with from === 'mcpx' are
  // checked; requests of both sides are remembered per channel and side, so that a result finds its
  // method. `sent` are names that peers sent besides (strict.mjs), `excused` problems that are theirs:
  // a server that sends nonsense is passed on. Answers {checked, problems: [text]}.
  check(frames, { sent = new Set(), excused = new Set() } = {}) {
    const conversation = new Conversation();
    const problems = [];
    const all = new Set([...sent, ...TASK_MEMBERS]);
    const shapes = new Set();
    let checked = 0;
    for (const { message, frame } of messagesIn(frames)) {
      if (frame.from !== 'mcpx') namesIn(message, all);
    }
    for (const { message, frame, broken, batch } of messagesIn(frames)) {
      if (frame.from !== 'mcpx') {
        if (message) conversation.take(message, frame);
        continue;
      }
      const say = (what, problem) => problems.push(`${frame.revision} ${what}: ${problem} in ${clip(frame.text)}`);
      checked++;
      if (broken) {
        say('frame', `not JSON (${broken})`);
        continue;
      }
      if (batch && frame.revision !== '2025-03-26') say('batch', 'only 2025-03-26 has batches');
      const method = conversation.take(message, frame);
      if (checked > EACH) {
        const shape = `${frame.revision} ${method} ${shapeOf(message)}`;
        if (shapes.has(shape)) continue;
        shapes.add(shape);
      }
      for (const problem of this.problems(frame, message, method, all)) {
        if (!excused.has(normal(problem))) say(method ?? 'error', problem);
      }
    }
    return { checked, problems };
  }

  // What is wrong with frames of peers, as `excused` of check() wants it.
  faults(frames) {
    const conversation = new Conversation();
    const found = new Set();
    for (const { message, frame } of messagesIn(frames)) {
      if (!message) continue;
      const method = conversation.take(message, frame);
      if (frame.from === 'mcpx' || (isAnswer(message) && method === undefined)) continue;
      for (const revision of REVISIONS) {
        for (const p of this.revisions.get(revision).problems(message, method)) found.add(normal(p));
      }
    }
    return found;
  }

  problems(frame, message, method, sent) {
    const revision = this.revisions.get(frame.revision);
    if (!revision) return [`no such revision: ${frame.revision}`];
    if (isAnswer(message) && method === undefined && 'id' in message && message.id !== null) {
      return ['an answer to nothing'];
    }
    const found = [];
    // Older schemas want an id in every error; their transports say that the body of a refusal has none
    // (basic/transports, "Sending Messages to the Server").
    const refusal = 'error' in message && !('id' in message) && frame.status >= 400;
    const foreign = method !== undefined && ![...this.revisions.values()].some((r) => r.byMethod.has(method));
    if (foreign && !OWN_EXTENSION_METHODS.has(method) && !sent.has(`method:${method}`)) return [`no revision has ${method}, and no peer sent it`];
    const whole = withoutUnknownBlocks(refusal ? { id: 0, ...message } : message, this.strict.blockTypes, sent);
    found.push(...revision.problems(whole, method, { foreign }));
    for (const [definition, value] of revision.parts(message, method, { foreign })) {
      found.push(...this.strict.problems(frame.revision, definition, value, sent));
    }
    const code = message.error?.code;
    const known = CODES.get(code);
    if (known && !known(frame.revision)) found.push(`code ${code} is not of ${frame.revision}`);
    const reserved = frame.revision > '2026' && code <= -32020 && code >= -32099 && !known
      && !sent.has(`code:${code}`);
    if (reserved) found.push(`code ${code} is reserved to the specification`);
    return found;
  }
}

const isAnswer = (message) => 'result' in message || 'error' in message;
// Without places, so that the same fault is the same text wherever it stands.
const normal = (problem) => problem.replace(/\/\d+/g, '/*').replace(/\[\d+\]/g, '[*]');
function clip(text) {
  return text.length > 600 ? `${text.slice(0, 600)}... (${text.length} bytes)` : text;
}

function* messagesIn(frames) {
  for (const frame of frames) {
    let parsed;
    try {
      parsed = JSON.parse(frame.text);
    } catch (error) {
      yield { frame, broken: error.message };
      continue;
    }
    const batch = Array.isArray(parsed);
    for (const message of batch ? parsed : [parsed]) {
      if (message === null || typeof message !== 'object') yield { frame, broken: 'no object' };
      else yield { frame, message, batch };
    }
  }
}

const TELLING = new Set(['method', 'type', 'resultType', 'jsonrpc', 'code']);
function shapeOf(value, key) {
  if (Array.isArray(value)) return `[${[...new Set(value.map((v) => shapeOf(v)))].join()}]`;
  if (value === null || typeof value !== 'object') return TELLING.has(key) ? String(value) : typeof value;
  return `{${Object.entries(value).map(([k, v]) => `${k}:${shapeOf(v, k)}`).join()}}`;
}

// Which request an answer is to, per channel and direction.
class Conversation {
  #pending = new Map();
  // The method of a message: its own, or that of what it answers.
  take(message, { channel, from }) {
    const mine = from === 'mcpx';
    const key = (byMcpx) => `${channel}/${byMcpx}/${JSON.stringify(message.id)}`;
    if (isAnswer(message)) return this.#pending.get(key(!mine));
    if (message.id !== undefined) this.#pending.set(key(mine), message.method);
    return message.method;
  }
}

// Content blocks of types that no revision has pass as they are, and no schema knows them.
function withoutUnknownBlocks(value, known, sent) {
  const foreign = (item) => typeof item?.type === 'string' && !known.has(item.type)
    && sent.has(`type:${item.type}`);
  if (Array.isArray(value)) return value.map((v) => withoutUnknownBlocks(v, known, sent));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key,
    withoutUnknownBlocks(key === 'content' && Array.isArray(member)
      ? member.filter((item) => !foreign(item)) : member, known, sent)]));
}

const only = (object, key) => (key in object ? { [key]: object[key] } : {});

class Revision {
  constructor(dir, name) {
    const schema = JSON.parse(readFileSync(path.join(dir, name, 'schema.json'), 'utf8'));
    this.key = '$defs' in schema ? '$defs' : 'definitions';
    if (name === '2026-07-28') Object.assign(schema[this.key], TASK_DEFINITIONS);
    this.definitions = schema[this.key];
    const module = this.key === '$defs' ? 'ajv/dist/2020.js' : 'ajv';
    const Ajv = require(module).default;
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
    require('ajv-formats').default(this.ajv);
    this.ajv.addFormat('byte', /^[A-Za-z0-9+/]*={0,2}$/);
    this.ajv.addSchema({ ...schema, $id: 'mcp' });
    this.byMethod = new Map();
    for (const [definition, body] of Object.entries(this.definitions)) {
      const method = body.properties?.method?.const;
      if (method) this.byMethod.set(method, definition);
    }
  }

  fits(definition, value) { return this.against(definition, value).length === 0; }
  has(definition) { return definition in this.definitions; }

  against(definition, value) {
    const validate = this.ajv.getSchema(`mcp#/${this.key}/${definition}`);
    if (!validate) return [`the schema has no ${definition}`];
    if (validate(value)) return [];
    return validate.errors.map((e) => `${definition}${e.instancePath} ${e.message}`);
  }

  // The definitions that a message and its parts are, for the walk of strict.mjs.
  parts(message, method, { foreign }) {
    if (foreign) return 'result' in message ? [['Result', only(message.result, '_meta')]] : [];
    const first = (...names) => names.find((n) => this.has(n));
    if ('error' in message) return [[first('JSONRPCErrorResponse', 'JSONRPCError'), message]];
    if ('result' in message) {
      const envelope = first('JSONRPCResultResponse', 'JSONRPCResponse');
      const parts = [[envelope, { ...message, result: {} }]];
      const definition = this.#resultOf(message.result, method);
      return this.has(definition) ? [...parts, [definition, message.result]] : parts;
    }
    const envelope = message.id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest';
    const definition = this.byMethod.get(method);
    return [[envelope, { ...message, params: {} }],
      ...(definition ? [[definition, { method, params: message.params }]] : [])];
  }

  problems(message, method, { foreign = false } = {}) {
    const first = (...names) => names.find((n) => this.has(n));
    if ('error' in message) {
      const found = this.against(first('JSONRPCErrorResponse', 'JSONRPCError'), message);
      const typed = ERRORS[message.error?.code];
      return typed && this.has(typed) ? [...found, ...this.against(typed, message)] : found;
    }
    if ('result' in message) {
      return [...this.against(first('JSONRPCResultResponse', 'JSONRPCResponse'), message),
        ...(foreign ? this.against('Result', message.result) : this.#result(message.result, method))];
    }
    const envelope = message.id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest';
    if (foreign) return this.against(envelope, message);
    const definition = this.byMethod.get(method);
    if (!definition) return [`no such method in this revision: ${method}`];
    return [...this.against(envelope, message), ...this.against(definition, message)];
  }

  #result(result, method) {
    const definition = this.#resultOf(result, method);
    if (!this.has(definition)) return [`no result defined for ${method}`];
    return this.against(definition, result);
  }
  #resultOf(result, method) {
    if (result?.resultType === 'input_required') return 'InputRequiredResult';
    const task = result?.resultType === 'task' || (result?.task && !('content' in result));
    if (task && method === 'tools/call' && this.has('CreateTaskResult')) return 'CreateTaskResult';
    if (EMPTY.has(method)) return this.has('EmptyResult') ? 'EmptyResult' : 'Result';
    if (this.has('GetTaskPayloadResult') && TASK_RESULTS[method]) return TASK_RESULTS[method];
    return this.byMethod.get(method)?.replace(/Request$/, 'Result');
  }
}
