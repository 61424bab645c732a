/** Upstream's specs that can't pass on this cluster or on these networks, and why. What is not here must pass. */
import type { Network, NotApplicable } from './report.ts';

const PRIMARY: readonly Network[] = ['layer3', 'layer2'];

export const NOT_APPLICABLE: readonly NotApplicable[] = [
  {
    specs: /KubeProxy should|kube-proxy|recreate its iptables rules/,
    reason: 'it is about kube-proxy, which is not there: Heddle does services',
  },
  {
    specs: /work after restarting apiserver|DNS for the cluster \[Provider:GCE\]/,
    reason: 'it is for clusters of one cloud, whose machines it logs in to',
  },
  {
    specs: /DNS configMap nameserver|PerformanceDNS/,
    reason:
      'it changes or measures CoreDNS; the cluster’s DNS here is a stand-in that reads Services and EndpointSlices',
  },
  {
    specs: /Internet connection for containers/,
    reason: 'it asks hosts of the Internet, to which the nodes have no way',
  },
  {
    specs: /IPerf2/,
    reason: 'it wants iperf in its image, which the image here has not',
  },
  {
    specs: /invalid conntrack state bug/,
    reason:
      'its image, registry.k8s.io/e2e-test-images/regression-issue-74839, is not to be had here',
  },
  {
    specs: /be rejected for evicted pods/,
    reason:
      'it has a pod evicted for its ephemeral storage, which kubelets here don’t measure (localStorageCapacityIsolation: false)',
  },
  {
    specs: /HealthCheckNodePort correctly when ExternalTrafficPolicy changes/,
    reason:
      'a process of a node that asks a node port of this node (externalTrafficPolicy: Local, the pod on another one) is seen by the pod with the join address of the node’s gateway router (100.64.0.0/16), to which its answer has to return; the spec wants the node’s. The same in ovn-kubernetes, where it is skipped (issue 5119)',
  },
  {
    specs: /Feature:LoadBalancer/,
    reason: 'it wants a cloud that gives Services load balancers; there is none here',
  },
  {
    specs:
      /multiple nodes when using PreferClose|multiple nodes when using PreferSameZone|fall back to same zone/,
    reason: 'it wants three zones with two nodes each; there are three nodes here',
  },
  {
    specs: /should function for service endpoints using hostNetwork/,
    reason:
      'its requests to a node port whose endpoint is a process of the same node pass seven zones of connections, and Open vSwitch’s userspace datapath, which the nodes here have, drops what is recirculated more than six times (`datapath_drop_recirc_error` counts each)',
  },
  {
    specs: /Networking Granular Checks: Services should be able to handle large requests: udp/,
    reason:
      'its datagrams over IPv4 are longer than a packet of the network. What follows the first piece names no port, and the load balancers of OVN 25.03 in Open vSwitch’s userspace datapath, which the nodes here have, lead it nowhere: 1,300 bytes to a cluster IP are answered and 1,500 are not, while 4,000 to the pod itself are',
  },
  {
    specs:
      /Connectivity Pod Lifecycle should be able to connect|Pods should function for intra-pod|should function for endpoint-Service|should function for multiple endpoint-Services|NoSNAT|preserve source pod IP|DNS should support configurable pod resolv.conf|should be able to reach pod on ipv4 and ipv6 ip|server in CIDR block|IPBlock.CIDR and IPBlock.Except/,
    networks: PRIMARY,
    reason:
      'a pod of it asks another pod at status.podIP, or it compares with that or writes it into a policy. There stands the address on the default network, which no pod of a primary network reaches; pods of the network know each other by their addresses there (k8s.ovn.org/pod-networks)',
  },
  {
    specs:
      /service.kubernetes.io\/headless|multiple endpoint IPs specified in multiple EndpointSlices|multiple ports specified in multiple EndpointSlices|multiple subsets and same IP address/,
    networks: PRIMARY,
    reason:
      'it writes Endpoints or EndpointSlices itself, with status.podIP. Those that Kubernetes makes for a selector are mirrored with the addresses of the primary network',
  },
  {
    specs: /Local Pod and Node, to Pod \(hostNetwork: true\)|should fail health check node port/,
    networks: PRIMARY,
    reason:
      'its pod asks a process of its own node, which pods of primary networks reach where the kernel has VRFs; that of the nodes here has none',
  },
];
