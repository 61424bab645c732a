/**
 * Local gateway mode of primary networks needs VRFs, so it has the virtual machine. Who
 * reaches whom is tried from the pods of two nodes; those of n1 have a pod beside them.
 */
import { describeMatrix } from '../support/lab/matrix.ts';

describeMatrix({
  gatewayMode: 'local',
  kind: 'vm',
  seconds: 5,
  limit: 1200,
  senders: ['on-n1', 'on-n3'],
});
