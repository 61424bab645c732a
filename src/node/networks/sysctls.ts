/** Settings of the kernel that a management port and the external bridge need (reference/node.md §2.5). */
import type { HostPart } from './host-network.ts';
import type { Family } from '../../allocators/addresses.ts';
import { deviceSysctl, type HostRows } from '../host-rows.ts';
import { RP_FILTER_LOOSE } from '../numbers.ts';

/** Has the host forward what comes by a device. */
export function forwarding(rows: HostRows, family: Family, dev: string): void {
  if (family === 'v4') rows.sysctl(deviceSysctl('v4', dev, 'forwarding'), { dev, value: '1' });
  else
    rows.sysctl(deviceSysctl('v6', dev, 'force_forwarding'), {
      dev,
      value: '1',
      // Kernels before 6.17 forward IPv6 everywhere or nowhere.
      otherwise: 'net/ipv6/conf/all/forwarding',
    });
}

export const sysctls: HostPart = {
  rules: {
    forwarding: {
      text: 'The host forwards what comes through a management port, and through the external bridge.',
      source: 'reference/node.md §2.5',
    },
    'reverse-path': {
      text: 'What comes through a management port has a way back by whichever device: replies take another way than requests.',
      source: 'reference/node.md §2.5',
    },
  },
  build(rows, { device, ranges, isDefault, gateway }) {
    const families = new Set(ranges.map(({ family }) => family));
    // All networks share the bridge: the default network, which every node has, stands for them.
    const bridges = isDefault && gateway !== undefined ? [gateway.bridge] : [];
    for (const dev of [device, ...bridges])
      for (const family of families) forwarding(rows.by('forwarding'), family, dev);
    if (families.has('v4'))
      rows.by('reverse-path').sysctl(deviceSysctl('v4', device, 'rp_filter'), {
        dev: device,
        value: RP_FILTER_LOOSE,
      });
  },
};
