/** Defaults of the whole cluster (reference/api.md §12). */
import type { ClusterSettings } from './model.ts';

export const DEFAULT_SETTINGS: ClusterSettings = {
  clusterSubnets: [{ cidr: '10.128.0.0/14', hostLength: 23 }],
  serviceSubnets: ['172.16.1.0/24'],
  joinSubnets: { v4: '100.64.0.0/16', v6: 'fd98::/64' },
  udnJoinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' },
  transitSubnets: { v4: '100.88.0.0/16', v6: 'fd97::/64' },
  masqueradeSubnets: { v4: '169.254.0.0/17', v6: 'fd69::/112' },
  mtu: 1400,
  features: {
    egressIp: true,
    egressFirewall: true,
    egressService: true,
    externalRoutes: true,
    multicast: false,
  },
  egressHealth: { timeout: 1000, port: 9107, rebalanceDelay: 300_000 },
  // OVN makes 200,000 flows in two to three seconds: of 1,000 rules where a hundred pods of the namespace are.
  policies: {
    passesIcmp: false,
    allowsStateless: false,
    mostFlows: 10_000,
    mostFirewallFlows: 200_000,
    mostQosFlows: 100_000,
  },
  ephemeralPortRange: '',
  aclLoggingRateLimit: 20,
  allowedDefaultServices: ['default/kubernetes', 'kube-system/kube-dns'],
  dnsServers: 'kube-system/kube-dns',
  forwardsDns: true,
  networkNames: false,
  secondaryGateways: false,
  defaultAccess: [],
  clusterDomain: 'cluster.local',
  hasVrfs: true,
  serviceExternalRanges: [],
  tunnelSources: [],
  // A service of 64 addresses and 16 ports, or of 5,000 endpoints with two ports in both families. The slices of 20,000 endpoints, a hundred in
  // each, are 400 in both families; Kubernetes leaves them half empty at times.
  serviceLimits: { entries: 1024, targets: 20_000, slices: 1000 },
  podConnections: 0,
  configNamespace: 'ovn-kubernetes',
};
