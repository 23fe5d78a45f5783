#!/usr/bin/env python3
"""The work that packaging/optimise.sh counts: one daemon in front of demo servers over stdio, and in
front of itself over HTTP, is called by clients of both eras. Usage: train.py BUILD_DIR"""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

SIZES = {100: 1500, 4096: 150}  # bytes of an argument: calls of each kind
LISTS = 300
MODERN = '2026-07-28'
LEGACY = '2025-11-25'


class Client:
    """One kept connection to one endpoint."""

    def __init__(self, port, revision):
        self.connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
        self.revision = revision
        self.headers = {'Content-Type': 'application/json',
                        'Accept': 'application/json, text/event-stream'}
        self.last_id = 0
        self.open()

    def open(self):
        if self.revision != MODERN:
            _, headers = self.post('initialize', {
                'protocolVersion': self.revision, 'capabilities': {},
                'clientInfo': {'name': 'train', 'version': '1'}})
            self.headers['Mcp-Session-Id'] = headers['Mcp-Session-Id']
        self.headers['MCP-Protocol-Version'] = self.revision

    def post(self, method, params, name=None):
        self.last_id += 1
        headers = dict(self.headers)
        if self.revision == MODERN:
            params = {**params, '_meta': {
                'io.modelcontextprotocol/protocolVersion': MODERN,
                'io.modelcontextprotocol/clientInfo': {'name': 'train', 'version': '1'},
                'io.modelcontextprotocol/clientCapabilities': {}}}
            headers['Mcp-Method'] = method
            if name:
                headers['Mcp-Name'] = name
        body = json.dumps({'jsonrpc': '2.0', 'id': self.last_id, 'method': method,
                           'params': params}, separators=(',', ':'))
        self.connection.request('POST', '/mcp', body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(f'train: {method} got {answer.status}: {text[:300]!r}')
        return json.loads(text), answer.headers

    def call(self, tool, text):
        answer, _ = self.post('tools/call', {'name': tool, 'arguments': {'text': text}}, tool)
        if text not in json.dumps(answer.get('result')):
            sys.exit(f'train: {tool} answered {json.dumps(answer)[:300]}')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def configuration(build, port, folder):
    demo = os.path.join(build, 'test/fixtures/mcpx-demo-server')
    itself = f'http://127.0.0.1:{port}/mcp/stdio'
    return json.dumps({
        'listen': {'http': f'127.0.0.1:{port}'}, 'threads': 1, 'log': {'level': 'warning'},
        'state_dir': folder,
        'servers': {'stdio': {'command': demo, 'args': ['--era', 'legacy']},
                    'modern': {'url': itself, 'protocol': 'modern'},
                    'legacy': {'url': itself, 'protocol': 'legacy'}}})


def wait_ready(port, daemon):
    until = time.monotonic() + 60
    while time.monotonic() < until and daemon.poll() is None:
        try:
            connection = http.client.HTTPConnection('127.0.0.1', port, timeout=5)
            connection.request('GET', '/v1/servers')
            listed = json.loads(connection.getresponse().read())
            servers = listed if isinstance(listed, list) else listed['servers']
            if servers and all(server['state'] == 'ready' for server in servers):
                return
        except (OSError, ValueError, http.client.HTTPException):
            pass
        time.sleep(0.05)
    sys.exit('train: the servers did not become ready')


def train(port):
    for revision in (LEGACY, MODERN):
        client = Client(port, revision)
        for server in ('modern', 'legacy'):
            for size, calls in SIZES.items():
                for _ in range(calls):
                    client.call(f'{server}__echo', 'x' * size)
        for _ in range(LISTS):
            client.post('tools/list', {})


def main():
    build = os.path.abspath(sys.argv[1])
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'mcpx.yaml')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(configuration(build, port, folder))  # JSON is YAML
        daemon = subprocess.Popen([os.path.join(build, 'bin/mcpxd'), '--config', path])
        try:
            wait_ready(port, daemon)
            train(port)
        finally:
            daemon.terminate()  # the counters are written at an orderly end
            daemon.wait(timeout=60)


if __name__ == '__main__':
    main()
