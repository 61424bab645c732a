/** A namespace of the default network that reaches services of the primary networks of a zone that let it in. */
import type { Attachment } from '../../../src/model/model.ts';
import { familyOf } from '../../../src/allocators/addresses.ts';
import { DEFAULT_NETWORK } from '../../../src/model/read/networks.ts';
import { bluePod, type Zone } from './zones.ts';

const ADDRESSES = { v4: '10.244.0.9/24', v6: 'fd00:10:244::9/64' };

/** A pod of the namespace on this node. */
const prometheus = ({ settings }: Zone): Attachment => ({
  ...bluePod,
  namespace: 'monitoring',
  pod: 'prometheus',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000077',
  network: DEFAULT_NETWORK,
  nadKey: 'default',
  macAddress: '0a:58:0a:f4:00:09',
  addresses: settings.clusterSubnets.map(({ cidr }) => ADDRESSES[familyOf(cidr)]),
});

/** The zone with that namespace named, a pod of it here, and networks that let it in: all primary ones, unless some are named. */
export const withDefaultAccess = (zone: Zone, open?: readonly string[]): Zone => ({
  ...zone,
  settings: { ...zone.settings, defaultAccess: ['monitoring'] },
  namespaces: [...zone.namespaces, 'monitoring'],
  networks: zone.networks.map((network) =>
    network.id !== 0 && (open?.includes(network.name) ?? network.role === 'primary')
      ? { ...network, letsDefaultIn: true }
      : network,
  ),
  attachments: [...zone.attachments, prometheus(zone)],
});
