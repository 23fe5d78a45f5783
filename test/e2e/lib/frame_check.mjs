// Every frame that a daemon under test sent, to clients and to servers, against the schema of its
// revision; done for each daemon when it ends, so a test need not ask for it.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { conversation, httpFrames, lineFrames, teeFrames } from './frames.mjs';
import { Schemas } from './schema.mjs';
import { namesIn } from './strict.mjs';
import { accepted } from './wiretap.mjs';

// Of what stdio servers in `dir`, or tees before them, have noted.
function stdioFrames(dir) {
  const found = [];
  for (const file of readdirSync(dir)) {
    const lines = () => readFileSync(path.join(dir, file), 'utf8').split('\n').filter(Boolean);
    if (/^tiny\.\d+\.lines$/.test(file)) {
      found.push(...conversation(lines().map((text) => ({ from: 'mcpx', text })), file));
    } else if (file.endsWith('.tee')) {
      found.push(...teeFrames(lines().map(parsed).filter(Boolean), file));
    } else if (file.endsWith('.record.jsonl')) {
      const processes = new Map();
      for (const event of lines().map(parsed).filter((e) => ['line', 'said'].includes(e?.at))) {
        const from = event.at === 'line' ? 'mcpx' : 'peer';
        processes.set(event.pid, [...processes.get(event.pid) ?? [], { from, text: event.text }]);
      }
      for (const [pid, said] of processes) found.push(...conversation(said, `${file} ${pid}`));
    }
  }
  return found;
}
// What servers and clients were told to say is in files: scripts, and what tees wrote.
export function namesInFiles(dir) {
  const names = new Set();
  for (const file of readdirSync(dir).filter((f) => /\.(script\.json|tee|record\.jsonl)$/.test(f))) {
    for (const [, name] of readFileSync(path.join(dir, file), 'utf8').matchAll(/\\?"([^"\\]+)\\?"\s*:/g)) {
      names.add(name);
    }
    for (const [, type] of readFileSync(path.join(dir, file), 'utf8').matchAll(/type\\*":\\*"([^"\\]+)/g)) {
      names.add(`type:${type}`);
    }
  }
  return names;
}
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// {checked, problems}. `wire` is what wiretap.mjs heard of the daemon, `since` the moment it was started.
export function checkFrames({ wire, since, dir }) {
  const schemas = Schemas.load();
  const http = wire.connections.filter((c) => c.kind === 'http');
  const down = httpFrames(http, 'server');
  for (const [at, lines] of wire.connections.filter((c) => c.kind === 'lines').entries()) {
    down.push(...lineFrames(lines, `connect ${at}`));
  }
  const up = [...httpFrames(accepted(since), 'client'), ...stdioFrames(dir)];
  const sent = namesInFiles(dir);
  for (const { text } of [...down, ...up].filter((f) => f.from === 'peer')) namesIn(parsed(text), sent);
  const result = { checked: 0, problems: [] };
  for (const frames of [down, up]) {
    let found = schemas.check(frames, { sent });
    if (found.problems.length) {
      const excused = schemas.faults(frames === down ? up : down);
      found = schemas.check(frames, { sent, excused });
    }
    result.checked += found.checked;
    result.problems.push(...found.problems);
  }
  return result;
}
