/** The files that a container runtime finds: the plugin, which only hands over, and its configuration. Pure. */

import { CNI_CODE } from '../protocol/cni-error.ts';
import { VARIABLES, type Variable } from '../protocol/request.ts';

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

/** Where the daemon takes requests whose variables are headers; those of an older shim come to `/`, before standard input. */
export const REQUEST_PATH = '/cni';

/** `CNI_ARGS` is the header `CNI-Args`. */
export const variableHeader = (variable: Variable): string => variable.replace('_', '-');

/**
 * The shell becomes curl, which most hosts have: one process, no pipe, nothing copied. curl ends with 22 when the daemon answered with an error,
 * which is a CNI error object already. Of a daemon that does not answer at all it tells on standard error, which runtimes show when there is no object.
 */
export function shimScript(socket: string): string {
  if (!PLAIN_PATH.test(socket))
    throw new Error(`${JSON.stringify(socket)}: a path of letters, digits, "/", ".", "_" and "-"`);
  const headers = VARIABLES.map((name) => `-H "${variableHeader(name)}: $${name}"`).join(' ');
  return `${PLUGIN_MARK}hands what the container runtime asks to heddle node
fail() {
  printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}\\n' "$1" "$2"
  exit 1
}
case $${VARIABLES.join('$')} in
  *[[:cntrl:]]*) fail ${CNI_CODE.invalidEnvironment} 'a variable CNI_… has a control character' ;;
esac
code=${CNI_CODE.tryAgainLater}
[ "$CNI_COMMAND" != STATUS ] || code=${CNI_CODE.notAvailable}
[ -S ${socket} ] || fail $code 'heddle node does not listen on ${socket}: is it running?'
command -v curl > /dev/null || fail $code 'this host has no curl: install it'
exec curl -q -s --noproxy '*' --fail-with-body -w '%{onerror}%{stderr}heddle-cni: heddle node on ${socket}: %{errormsg}\\n' --max-time ${LIMIT} --unix-socket ${socket} -H Expect: ${headers} --data-binary @- http://heddle${REQUEST_PATH}
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
