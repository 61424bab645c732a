import { expect, test } from 'vitest';
import { selectionOf } from '../../../../src/model/read/policies.ts';
import type { QosRule } from '../../../../src/model/read/qos.ts';
import { mayMeanOnePacket } from '../../../../src/model/rules/qos-overlap.ts';

const rule = (
  to: readonly string[],
  ports: QosRule['ports'] = [],
): Pick<QosRule, 'to' | 'ports'> => ({
  to: to.map((cidr) =>
    cidr === 'pods'
      ? { kind: 'pods', selection: selectionOf({ podSelector: {} }, 'blue') }
      : { kind: 'block', block: { cidr, except: [] } },
  ),
  ports,
});
const web = { protocol: 'tcp', port: 80 } as const;

test.each([
  ['everywhere and somewhere', rule([]), rule(['10.0.0.0/8']), true],
  ['a block and one in it', rule(['10.0.0.0/8']), rule(['10.1.0.0/16']), true],
  ['blocks beside each other', rule(['10.0.0.0/8']), rule(['11.0.0.0/8', 'fd00::/8']), false],
  ['pods, wherever they are', rule(['10.0.0.0/8']), rule(['pods']), true],
  ['one port', rule([], [web]), rule([], [{ protocol: 'udp' }, web]), true],
  ['a port and all of its protocol', rule([], [web]), rule([], [{ protocol: 'tcp' }]), true],
  ['two ports', rule([], [web]), rule([], [{ protocol: 'tcp', port: 443 }]), false],
  ['two protocols', rule([], [web]), rule([], [{ protocol: 'udp' }]), false],
  ['a port and all', rule([], [web]), rule([]), true],
] as const)('of %s', (_what, a, b, isOne) => {
  expect(mayMeanOnePacket([a], [b])).toBe(isOne);
  expect(mayMeanOnePacket([b], [a])).toBe(isOne);
  expect(mayMeanOnePacket([a], [])).toBe(false);
});
