/** Packets that a pod of the small zone may send. */
import type { Witness } from '../../../src/verify/witnesses/choice.ts';

export const V4: Witness = {
  port: 'blue.net_blue_a',
  datapath: 'blue_net_n1',
  mac: '0a:58:0a:14:00:03',
  address: '10.20.0.3',
  network: 'blue_net',
  toNetwork: 'green_net',
  toAddress: '10.80.0.3',
  toMac: '0a:58:0a:14:00:01',
  fromPort: 61_000,
  toPort: 80,
};

export const V6: Witness = { ...V4, address: 'fd01::3', toAddress: 'fd02::1:3' };
