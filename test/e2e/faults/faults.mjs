// The faults, by where they happen. What each does: upstreams/stdio.mjs, http.mjs, sse.mjs
// and driver.mjs.

// Asked for by a call, in its arguments.
export const inCall = {
  stdio: ['exit', 'exit mid-frame', 'close stdout', 'never', 'late', 'truncated', 'glued', 'corrupt',
    'garbage', 'wrong id', 'text id', 'null id', 'twice', 'both members', 'error', 'huge stderr', 'deaf',
    'too large'],
  http: ['exit', 'reset before head', 'reset mid-body', 'stall after head', 'stall before head', 'late',
    'truncated chunk', 'bad chunk', 'length too large', 'length too small', 'status 500', 'status 503',
    'status 202', 'html', 'garbage', 'corrupt', 'wrong id', 'error', 'sse cut', 'sse reset', 'sse twice',
    'sse garbage', 'sse never', 'forget sessions'],
  sse: ['exit', 'never', 'late', 'status 500', 'cut', 'reset', 'half an event', 'garbage', 'wrong id', 'twice',
    'error'],
};

// Done to the process from outside; a reload replaces the daemon's side of it.
export const onProcess = {
  stdio: ['kill', 'terminate', 'stop for a while', 'stop for good', 'reload'],
  http: ['kill', 'stop for a while', 'stop for good', 'listener closed', 'sessions dropped', 'streams dropped',
    'reload'],
  sse: ['kill', 'stop for a while', 'stop for good', 'listener closed', 'streams dropped', 'reload'],
};

// For the next start of a stdio server.
export const atStart = ['exit', 'exit in handshake', 'mute', 'garbage', 'list fails'];
