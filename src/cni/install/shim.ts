/** The files that a container runtime finds: the plugin, which only hands over, and its configuration. Pure. */

/** The socket of a node's daemon by default. */
export const CNI_SOCKET = '/run/heddle/cni.sock';

/** Names of the plugin: its own, and the types that NADs name (reference/node.md §6.5). */
export const PLUGIN_NAMES = ['heddle-cni', 'ovn-k8s-cni-overlay', 'ovn-kubernetes'] as const;
export const CONFLIST_NAME = '10-heddle.conflist';

/** First lines of a plugin that is ours. */
export const PLUGIN_MARK = '#!/bin/sh\n# heddle-cni: ';

/** Seconds; a little more than the daemon takes at most. */
const LIMIT = 120;

const PLAIN_PATH = /^\/[\w./-]+$/;

/** For hosts without curl, beside the plugin: Node.js, and what it runs. */
export const NODE_NAME = 'heddle-cni-node';
export const NODE_SCRIPT_NAME = 'heddle-cni.mjs';

/**
 * curl is what most hosts have and takes some milliseconds; Node.js, where it was installed too, takes 30. Either ends with 22
 * when the daemon answered with an error, which is a CNI error object already.
 */
export function shimScript(socket: string): string {
  if (!PLAIN_PATH.test(socket))
    throw new Error(`${JSON.stringify(socket)}: a path of letters, digits, "/", ".", "_" and "-"`);
  return `${PLUGIN_MARK}hands what the container runtime asks to heddle node
here=\${0%/*}
hand_over() {
  if command -v curl > /dev/null; then
    curl -q -s --noproxy '*' --fail-with-body --max-time ${LIMIT} --unix-socket ${socket} -H Expect: --data-binary @- http://heddle/
  else
    "$here/${NODE_NAME}" "$here/${NODE_SCRIPT_NAME}" ${socket} 2> /dev/null
  fi
}
answer=$(
  { printf '%s\\0' "$CNI_COMMAND" "$CNI_CONTAINERID" "$CNI_NETNS" "$CNI_IFNAME" "$CNI_ARGS" "$CNI_PATH"; cat; } | hand_over
)
ended=$?
case $ended in
  0) [ -z "$answer" ] || printf '%s\\n' "$answer" ;;
  22) printf '%s\\n' "$answer"; exit 1 ;;
  *)
    code=11 why="heddle node does not answer on ${socket} (error $ended of curl): is it running?"
    [ "$CNI_COMMAND" != STATUS ] || code=50
    [ $ended != 127 ] || why='this host has no curl: install it, or run heddle cni install --with-node'
    [ $ended != 28 ] || why='heddle node did not answer within ${LIMIT} s'
    printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}\\n' $code "$why"
    exit 1 ;;
esac
`;
}

/** Does what the shim has curl do, and ends with the numbers of curl. HTTP/1.0: the answer ends with the connection. */
export const nodeScript =
  (): string => `// heddle-cni: hands what comes on standard input to heddle node
const { connect } = process.getBuiltinModule('node:net');

const pieces = [];
for await (const piece of process.stdin) pieces.push(piece);
const request = Buffer.concat(pieces);
const socket = connect(process.argv[2]);
socket.setTimeout(${LIMIT}000, () => process.exit(28));
socket.on('error', () => process.exit(7));
socket.write(\`POST / HTTP/1.0\\r\\nHost: heddle\\r\\nContent-Length: \${request.length}\\r\\n\\r\\n\`);
socket.write(request);
const answer = [];
for await (const piece of socket) answer.push(piece);
const text = Buffer.concat(answer).toString();
const end = text.indexOf('\\r\\n\\r\\n');
process.stdout.write(text.slice(end + 4));
const [, status] = text.split(' ', 2);
process.exitCode = status === '200' ? 0 : status === '400' ? 22 : 52;
`;

/** Runtimes that know `cniVersions` take the newest that they speak, older ones `cniVersion`. */
export const conflist = (): string =>
  `${JSON.stringify(
    {
      cniVersion: '1.0.0',
      cniVersions: ['0.4.0', '1.0.0', '1.1.0'],
      name: 'ovn-kubernetes',
      plugins: [{ type: PLUGIN_NAMES[0] }],
    },
    undefined,
    2,
  )}\n`;
