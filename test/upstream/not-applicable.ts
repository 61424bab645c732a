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
    specs:
      /Connectivity Pod Lifecycle should be able to connect|Networking Granular Checks|Granular Checks: Services|NoSNAT|preserve source pod IP|should be able to reach pod on ipv4 and ipv6 ip|server in CIDR block|IPBlock.CIDR and IPBlock.Except/,
    networks: PRIMARY,
    reason:
      'it asks pods at status.podIP, or compares with that or writes it into a policy. There stands the address on the default network, which is closed; others know a pod of a primary network by its address there',
  },
  {
    specs:
      /multiple endpoint IPs specified in multiple EndpointSlices|multiple ports specified in multiple EndpointSlices|multiple subsets and same IP address/,
    networks: PRIMARY,
    reason:
      'it writes Endpoints or EndpointSlices itself, with status.podIP. Those that Kubernetes makes for a selector are mirrored with the addresses of the primary network',
  },
  {
    specs:
      /DNS should (provide DNS|resolve DNS|work with)|Proxy version v1 (A set|should proxy through)|connect to terminating and unready endpoints if PublishNotReadyAddresses/,
    networks: PRIMARY,
    reason:
      'it asks pods, or reads what its pods found, through the API server, which goes to status.podIP: the address on the default network, which is closed',
  },
  {
    specs:
      /service-proxy-name|service.kubernetes.io\/headless|work after the service has been recreated|client is hostNetwork/,
    networks: PRIMARY,
    reason:
      'a process of a node asks a cluster IP. Of a primary network those are for its pods; processes of nodes have node ports',
  },
  {
    specs: /Local Pod and Node, to Pod \(hostNetwork: true\)|should fail health check node port/,
    networks: PRIMARY,
    reason:
      'its pod asks a process of its own node, which pods of primary networks reach where the kernel has VRFs; that of the nodes here has none',
  },
];
