// Stands between mcpx and a stdio server and records both directions, line by line.
// Usage: node tee.mjs RECORD COMMAND [ARGS...]
// Each record line: {"from":"mcpx"|"server","text":"..."}; a trailing partial line has "cut":true.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const [file, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });

function follow(from, source, sink) {
  let pending = '';
  source.setEncoding('utf8');
  source.on('data', (chunk) => {
    pending += chunk;
    for (let at; (at = pending.indexOf('\n')) >= 0; pending = pending.slice(at + 1)) {
      appendFileSync(file, JSON.stringify({ from, text: pending.slice(0, at) }) + '\n');
    }
    sink.write(chunk);
  });
  source.on('end', () => {
    if (pending) appendFileSync(file, JSON.stringify({ from, text: pending, cut: true }) + '\n');
    sink.end();
  });
}
follow('mcpx', process.stdin, child.stdin);
follow('server', child.stdout, process.stdout);
child.stdin.on('error', () => {});
process.stdout.on('error', () => {});
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`tee: ${command}: ${error.message}`);
  process.exit(127);
});
child.on('exit', (code, signal) => process.exit(signal ? 1 : code));
