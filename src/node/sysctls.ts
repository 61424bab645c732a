/** Settings of the kernel that a management port needs (node.md §2.5). `*_l3mdev_accept` is left alone. */
import type { HostPart } from './host-network.ts';
import { deviceSysctl } from './host-rows.ts';
import { RP_FILTER_LOOSE } from './numbers.ts';

export const sysctls: HostPart = {
  rules: {
    forwarding: {
      text: 'The host forwards what comes from pods through a management port.',
      source: 'node.md §2.5',
    },
    'reverse-path': {
      text: 'What comes through a management port has a way back by whichever device: replies take another way than requests.',
      source: 'node.md §2.5',
    },
  },
  build(rows, { device, ranges }) {
    const families = new Set(ranges.map(({ family }) => family));
    if (families.has('v4')) {
      const path = (name: string): string => deviceSysctl('v4', device, name);
      rows.by('forwarding').sysctl(path('forwarding'), { dev: device, value: '1' });
      rows.by('reverse-path').sysctl(path('rp_filter'), { dev: device, value: RP_FILTER_LOOSE });
    }
    if (families.has('v6'))
      rows.by('forwarding').sysctl(deviceSysctl('v6', device, 'force_forwarding'), {
        dev: device,
        value: '1',
        // Kernels before 6.17 forward IPv6 everywhere or nowhere.
        otherwise: 'net/ipv6/conf/all/forwarding',
      });
  },
};
