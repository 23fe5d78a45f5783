// Where things are: the checkout, the binaries under test, the npm packages, the official schemas.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
export const libDir = path.join(root, 'test/e2e/lib');
export const npmDir = path.join(root, 'test/npm/node_modules');
export const buildDir = path.resolve(process.env.MCPX_BUILD_DIR ?? path.join(root, 'build/debug'));
export const logDir = path.resolve(
  process.env.MCPX_LOG_DIR ?? path.join(root, 'build/test-logs/e2e'));

// Sanitizer builds are slower; every time limit of the tests is multiplied by this.
export const slow = Number(process.env.MCPX_SLOW ?? 1);

export function binary(name) {
  const candidates = [path.join(buildDir, 'cmd', name, name), path.join(buildDir, 'bin', name),
    path.join(buildDir, name)];
  const found = candidates.find((c) => existsSync(c));
  if (!found) throw new Error(`${name} is not built: looked at ${candidates.join(', ')}`);
  return found;
}

// The allocators of sanitizer builds keep freed memory back on purpose: what is resident says little.
export function sanitized() {
  const program = readFileSync(binary('mcpxd'));
  return ['__asan_init', '__tsan_init'].some((symbol) => program.includes(symbol));
}

export const specDir = () => process.env.MCPX_SPEC_DIR ?? path.join(root, 'test/schemas');

export const upstreams = {
  everything: path.join(npmDir, '@modelcontextprotocol/server-everything/dist/index.js'),
  filesystem: path.join(npmDir, '@modelcontextprotocol/server-filesystem/dist/index.js'),
  memory: path.join(npmDir, '@modelcontextprotocol/server-memory/dist/index.js'),
};
export const inspector = path.join(
  npmDir, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
