/** A zone with something for every part of the nftables table: local gateway mode, both families, services of each kind, a pod with a primary network. */
import { DEFAULT_NETWORK } from '../../../src/model/read/networks.ts';
import type { Attachment, LocalNode } from '../../../src/model/model.ts';
import { withDefaultAccess } from '../zone/default-access.ts';
import { clusterDns, service, servicesOfAllKinds, slice, withServices } from '../zone/services.ts';
import { firewallWithNames } from '../zone/forwarded-dns.ts';
import { bluePod, dualZone, type Zone } from '../zone/zones.ts';

const pod: Attachment = {
  namespace: 'blue',
  pod: 'web',
  node: 'ovn-worker',
  podUid: 'u',
  created: '2026-01-01T00:00:00Z',
  nadKey: 'default',
  macAddress: '0a:58:0a:f4:00:05',
  addresses: ['10.244.0.5/24', 'fd00:10:244::5/64'],
  since: 0,
  openDefaultPorts: [{ protocol: 'tcp', port: 8080 }, { protocol: 'icmp' }],
  network: DEFAULT_NETWORK,
  role: 'infrastructure-locked',
};

const gateway = dualZone.node.gateway as NonNullable<LocalNode['gateway']>;

export const sharedNftZone: Zone = withServices(
  withDefaultAccess({
    ...dualZone,
    attachments: [pod, bluePod],
    firewalls: ['default', 'blue'].map((namespace) =>
      firewallWithNames(namespace, 'www.example.org'),
    ),
  }),
  ...servicesOfAllKinds,
  ...clusterDns,
  service(
    'blue/plain',
    {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.1.3', 'fd00:10:96::1:3'],
      ports: [{ port: 80, nodePort: 30081 }],
    },
    { loadBalancer: { ingress: [{ ip: '5.5.5.5' }, { ip: 'fd05::5' }] } },
  ),
  slice('blue/plain', ['103.103.0.3 on ovn-worker'], { network: 'blue_blue' }),
  service(
    'blue/portless',
    {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.1.4'],
      allocateLoadBalancerNodePorts: false,
      externalTrafficPolicy: 'Local',
      externalIPs: ['5.5.5.7'],
    },
    { loadBalancer: { ingress: [{ ip: '5.5.5.6' }] } },
  ),
  slice('blue/portless', ['103.103.0.3 on ovn-worker', '103.103.0.4 on ovn-worker'], {
    network: 'blue_blue',
  }),
  service('kube-system/node-local', {
    clusterIPs: ['10.96.0.8'],
    internalTrafficPolicy: 'Local',
  }),
  slice('kube-system/node-local', ['172.18.0.3 on ovn-worker']),
  service('kube-system/pod-local', {
    clusterIPs: ['10.96.0.9', 'fd00:10:96::9'],
    internalTrafficPolicy: 'Local',
  }),
  slice('kube-system/pod-local', ['10.244.0.7 on ovn-worker']),
);

/** The same in local gateway mode. */
export const nftZone: Zone = {
  ...sharedNftZone,
  node: { ...sharedNftZone.node, gateway: { ...gateway, mode: 'local' } },
};
