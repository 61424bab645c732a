/** The files that a container runtime finds: the plugin, which only hands over, and its configuration. Pure. */

/** The socket of a node's daemon when nothing else is said. */
export const CNI_SOCKET = '/run/heddle/cni.sock';

/** Names of the plugin: its own, and the type that NADs name (node.md §6.5). */
export const PLUGIN_NAMES = ['heddle-cni', 'ovn-k8s-cni-overlay'] as const;
export const CONFLIST_NAME = '10-heddle.conflist';

/** First lines of a plugin that is ours. */
export const PLUGIN_MARK = '#!/bin/sh\n# heddle-cni: ';

/** Seconds; a little more than the daemon takes at most. */
const LIMIT = 120;

const PLAIN_PATH = /^\/[\w./-]+$/;

/**
 * curl is what most hosts have and takes some milliseconds (ecosystem.md §9). It ends with 22 when the daemon answered with an error, which
 * is a CNI error object already.
 */
export function shimScript(socket: string): string {
  if (!PLAIN_PATH.test(socket))
    throw new Error(`${JSON.stringify(socket)}: a path of letters, digits, "/", ".", "_" and "-"`);
  return `${PLUGIN_MARK}hands what the container runtime asks to heddle node
answer=$(
  { printf '%s\\0' "$CNI_COMMAND" "$CNI_CONTAINERID" "$CNI_NETNS" "$CNI_IFNAME" "$CNI_ARGS" "$CNI_PATH"; cat; } |
    curl -q -s --noproxy '*' --fail-with-body --max-time ${LIMIT} --unix-socket ${socket} -H Expect: --data-binary @- http://heddle/
)
ended=$?
case $ended in
  0) [ -z "$answer" ] || printf '%s\\n' "$answer" ;;
  22) printf '%s\\n' "$answer"; exit 1 ;;
  *)
    code=11 why="heddle node does not answer on ${socket} (curl ended with $ended): is it running?"
    [ "$CNI_COMMAND" != STATUS ] || code=50
    [ $ended != 127 ] || why='curl is not installed'
    [ $ended != 28 ] || why='heddle node did not answer within ${LIMIT} s'
    printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}\\n' $code "$why"
    exit 1 ;;
esac
`;
}

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
