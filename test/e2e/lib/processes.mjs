// What runs on this machine, from /proc: descendants of a process, and processes that carry a mark
// (the test's own temporary directory) in their command line wherever they were re-parented to.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { pid, state: fields[0], parent: Number(fields[1]), started: fields[19] };
  } catch {
    return null;
  }
}

function pids() {
  return readdirSync('/proc').filter((n) => /^\d+$/.test(n)).map(Number);
}

export function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

// Living (not zombie) descendants of `pid`, each {pid, parent, started, command}.
export function descendants(pid) {
  const all = pids().map(stat).filter(Boolean);
  const below = new Set([pid]);
  for (let grown = true; grown;) {
    grown = false;
    for (const p of all) {
      if (below.has(p.parent) && !below.has(p.pid)) {
        below.add(p.pid);
        grown = true;
      }
    }
  }
  return all.filter((p) => p.pid !== pid && below.has(p.pid) && p.state !== 'Z')
    .map((p) => ({ ...p, command: commandLine(p.pid) }));
}

export function alive(process) {
  const now = stat(process.pid);
  return now !== null && now.state !== 'Z' && now.started === process.started;
}

// Processes other than this one whose command line contains `mark`.
export function marked(mark) {
  return pids().filter((pid) => pid !== process.pid && commandLine(pid).includes(mark))
    .map(stat).filter((p) => p && p.state !== 'Z')
    .map((p) => ({ ...p, command: commandLine(p.pid) }));
}

// Resources of a running process, for the tests that say "flat".
export function usage(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const number = (key) => Number(new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(status)?.[1]);
  const links = readdirSync(`/proc/${pid}/fd`);
  return { descriptors: links.length, threads: number('Threads'), residentKb: number('VmRSS') };
}

export function descriptorTargets(pid) {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
}
