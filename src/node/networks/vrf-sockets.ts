/** Which sockets of the host hear what comes in by the VRFs of networks. */
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { HostSettings } from './host-network.ts';
import { HostRows } from '../host-rows.ts';
import { SETTINGS } from '../../desired/rows.ts';

/** Of both families (linux/include/net/raw.h, raw_sk_bound_dev_eq). TCP and UDP have settings of their own, which are 0 unless somebody changed them. */
const RAW_SOCKETS = 'net/ipv4/raw_l3mdev_accept';

export const vrfSockets = ({ hasVrfs }: HostSettings): Feature<ZoneFacts> => ({
  name: 'host/vrf-sockets',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'vrf-sockets': {
      text: 'A raw socket of the host that is bound to no device does not hear what comes in by VRFs.',
      source: 'reference/node.md §2.5; linux/include/net/raw.h, raw_sk_bound_dev_eq',
    },
  },
  claims: [],
  build(facts, _args, out) {
    if (!hasVrfs || facts.rendered.all().length <= 1) return;
    new HostRows(out, SETTINGS, 'vrf-sockets').sysctl(RAW_SOCKETS, { value: '0' });
  },
});
