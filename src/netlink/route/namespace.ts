/** By which number the network namespace of a socket knows another one: RTM_GETNSID (linux/net_namespace.h, ip-netns(8)). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { FAMILY } from '../wire/ip-text.ts';
import type { NetlinkMessage } from '../wire/message.ts';
import type { Query } from '../wire/request.ts';

const TYPE = { new: 88, get: 90 } as const;
/** NETNSA_* */
const A = { id: 1, fd: 3 } as const;
/** rtgenmsg, with what fills it up. */
const HEADER = 4;

function readId({ type, body }: NetlinkMessage): number | undefined {
  if (type !== TYPE.new) return undefined;
  return new Attributes(body, HEADER, 'a network namespace').i32(A.id);
}

/** The number of the namespace of a descriptor, as `peerNamespace` of a link has it; -1 for one that was given none. */
export function namespaceId(namespace: number): Query<number> {
  const writer = new ByteWriter().u32(FAMILY.unspecified);
  writer.attribute(A.fd, (w) => w.u32(namespace));
  return {
    type: TYPE.get,
    flags: 0,
    body: writer.bytes,
    what: `show the number of network namespace (descriptor ${namespace})`,
    read: readId,
  };
}
