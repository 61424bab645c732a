/**
 * Local gateway mode of primary networks needs VRFs, so it has the virtual machine. Its processor is emulated: packets get more time, and who
 * reaches whom is tried from the pods of two nodes; those of n1 have a pod beside them.
 */
import { describeMatrix } from '../support/lab/matrix.ts';

describeMatrix({
  gatewayMode: 'local',
  kind: 'vm',
  seconds: 10,
  limit: 1200,
  senders: ['on-n1', 'on-n3'],
});
