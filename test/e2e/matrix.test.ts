/** Shared gateway mode, on this machine's kernel: quick, and a part of every short run. */
import { describeMatrix } from '../support/lab/matrix.ts';

describeMatrix({
  gatewayMode: 'shared',
  kind: 'host',
  seconds: 4,
  limit: 60,
  senders: ['on-n1', 'beside', 'on-n2', 'on-n3'],
});
