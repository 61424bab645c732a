/** Whether one packet of a pod may be meant by rules of two NetworkQoSes. Pure. */
import { overlaps, parsePrefix } from '../../allocators/addresses.ts';
import type { QosRule } from '../read/qos.ts';

type Classifier = Pick<QosRule, 'to' | 'ports'>;

/** Of pods it is not asked which they are, nor of blocks what they leave out. */
function isToOne(a: Classifier, b: Classifier): boolean {
  if (a.to.length === 0 || b.to.length === 0) return true;
  return a.to.some((one) =>
    b.to.some((other) => {
      if (one.kind === 'pods' || other.kind === 'pods') return true;
      const [left, right] = [parsePrefix(one.block.cidr), parsePrefix(other.block.cidr)];
      return left === undefined || right === undefined || overlaps(left, right);
    }),
  );
}

const isAtOnePort = (a: Classifier, b: Classifier): boolean =>
  a.ports.length === 0 ||
  b.ports.length === 0 ||
  a.ports.some((one) =>
    b.ports.some(
      (other) =>
        one.protocol === other.protocol &&
        (one.port === undefined || other.port === undefined || one.port === other.port),
    ),
  );

export const mayMeanOnePacket = (a: readonly Classifier[], b: readonly Classifier[]): boolean =>
  a.some((one) => b.some((other) => isToOne(one, other) && isAtOnePort(one, other)));
