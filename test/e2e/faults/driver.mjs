// The fault driver: at random points it does to the victims' processes what onProcess and atStart in
// faults.mjs list. All that it does is in `events`, and finish() undoes what would last.
import { fork } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { commandLine } from '../lib/processes.mjs';
import { reload } from '../lib/reload.mjs';
import { within } from '../lib/wait.mjs';
import { atStart, onProcess } from './faults.mjs';
import { Random } from './random.mjs';

const upstreams = path.join(path.dirname(fileURLToPath(import.meta.url)), 'upstreams');
export const stdioProgram = path.join(upstreams, 'stdio.mjs');

// An HTTP upstream's process, which is ours: it comes back when it ended, as a service manager sees to.
export class HttpProcess {
  constructor(server, dir) {
    this.options = JSON.stringify({ name: server.name, era: server.era, wire: server.wire, dir,
      port: server.port });
    this.restartAfter = () => 0;
  }

  async start() {
    const child = this.child = fork(path.join(upstreams, 'http.mjs'), [this.options],
      { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.gone = new Promise((resolve) => child.on('exit', resolve));
    this.gone.then(async () => {
      if (this.ended) return;
      await pause(this.restartAfter());
      if (!this.ended) await this.start();
    });
    this.ready = new Promise((resolve) => child.once('message', resolve));
    await Promise.race([this.ready, this.gone]);
  }

  // Tells it to do something and waits until it has, or has ended.
  async order(what) {
    if (!this.child.connected) return;
    const done = new Promise((resolve) => this.child.once('message', resolve));
    this.child.send(what, () => {});
    await Promise.race([done, this.gone]);
  }

  async stop() {
    this.ended = true;
    this.child.kill('SIGKILL');
    await this.gone;
  }
}

export class Driver {
  constructor({ daemon, dir, servers, seed, pace, starts, callTimeout }) {
    Object.assign(this, { daemon, dir, pace, starts, callTimeout });
    this.victims = servers.filter((server) => server.victim);
    this.random = new Random(seed, 'driver');
    this.events = [];
    this.lasting = new Map();  // victim -> what is still being done to it
    this.failed = [];
    for (const { http } of this.victims) {
      if (http) http.restartAfter = () => this.random.between(0, 600);
    }
  }

  async run() {
    while (!this.finished) {
      await pause(this.random.between(1, 2 * this.pace));
      if (this.finished) return;
      const victim = this.random.pick(this.victims);
      const fault = this.random.pick(onProcess[victim.wire]);
      const length = this.random.between(20, 2 * this.callTimeout);
      const start = victim.wire === 'stdio' && this.random.chance(this.starts) ? this.random.pick(atStart) : undefined;
      if (this.lasting.has(victim)) continue;
      this.events.push({ at: new Date().toISOString(), server: victim.name, fault, length, start });
      if (start) writeFileSync(path.join(this.dir, `${victim.name}.start`), start);
      const doing = this.#inflict(victim, fault, length).catch((error) => this.failed.push(error))
        .finally(() => this.lasting.delete(victim));
      this.lasting.set(victim, doing);
    }
  }

  async #inflict(victim, fault, length) {
    const signal = this.#signaller(victim);
    switch (fault) {
      case 'kill': return signal('SIGKILL');
      case 'terminate': return signal('SIGTERM');
      case 'stop for a while':
        signal('SIGSTOP');
        await this.#while(length);
        return signal('SIGCONT');
      case 'stop for good':  // until someone kills it, long after every deadline
        signal('SIGSTOP');
        await this.#while(3 * this.callTimeout);
        return signal('SIGKILL');
      case 'listener closed':
        await victim.http.order({ listen: false });
        await this.#while(length);
        return victim.http.order({ listen: true });
      case 'sessions dropped': return victim.http.order({ forget: true });
      case 'streams dropped': return victim.http.order({ drop: true });
      case 'reload': return this.#reload(victim);
    }
  }

  // Of its settings one that matters to nobody becomes another.
  async #reload({ name }) {
    const done = await reload(this.daemon, (config) => {
      const { breaker } = config.servers[name];
      breaker.cooldown = breaker.cooldown === '400ms' ? '401ms' : '400ms';
    });
    const others = Object.keys(JSON.parse(readFileSync(this.daemon.config, 'utf8')).servers)
      .filter((other) => !done.kept.includes(other) && !this.victims.some((victim) => victim.name === other));
    if (others.length > 0) throw new Error(`a reload for ${name} has changed ${others}`);
  }

  // Cut short by finish().
  async #while(milliseconds) {
    for (const end = Date.now() + milliseconds; !this.finished && Date.now() < end;) await pause(20);
  }

  // Signals to the process that is the victim's now, also when there is a newer one later.
  #signaller(victim) {
    const { dir } = this;
    if (victim.http) {
      const { child } = victim.http;
      return (signal) => child.kill(signal);
    }
    const pid = newestPid(dir, victim.name);
    return (signal) => { if (pid && commandLine(pid).includes(dir)) process.kill(pid, signal); };
  }

  async finish() {
    this.finished = true;
    for (const { name } of this.victims) rmSync(path.join(this.dir, `${name}.start`), { force: true });
    await within('the driver to undo what it did', 20_000, Promise.all(this.lasting.values()));
  }
}

// Of the processes of a stdio server; it may have ended.
function newestPid(dir, name) {
  return Number(readFileSync(path.join(dir, `${name}.pids`), 'utf8').trim().split('\n').at(-1));
}
