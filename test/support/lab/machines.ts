/** Objects of KubeVirt's machines as the cluster sees them: pods that run one, and claims that keep its addresses. */

/** What a pod of a machine is, besides where it runs. */
export interface Launched {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
  /** Name of the VirtualMachineInstance. */
  readonly machine: string;
  /** Host name of the guest, which two machines may have; that of the machine if left out. */
  readonly hostName?: string;
  /** The day on which the pod was made: of two pods of a machine the older one is left. */
  readonly day?: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

export const launcherPod = ({
  namespace,
  name,
  nodeName,
  machine,
  hostName = machine,
  day = 1,
  annotations = {},
}: Launched): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace,
    name,
    annotations: { 'kubevirt.io/domain': machine, ...annotations },
    labels: { 'kubevirt.io': 'virt-launcher', 'vm.kubevirt.io/name': hostName, app: 'machine' },
    creationTimestamp: `2026-01-0${day}T00:00:00Z`,
  },
  spec: { nodeName, containers: [{ name: 'compute', image: 'compute' }] },
});

/** Names the claim that keeps the addresses on the primary network. */
export const claiming = (claim: string): Readonly<Record<string, string>> => ({
  'k8s.ovn.org/primary-udn-ipamclaim': claim,
});

export const ipamClaim = (namespace: string, name: string, network: string): object => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { namespace, name },
  spec: { network, interface: 'ovn-udn1' },
});

/** A primary Layer2 network whose pods may keep their addresses. */
export const persistentNetwork = (
  namespace: string,
  name: string,
  subnets: readonly string[],
): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace, name },
  spec: {
    topology: 'Layer2',
    layer2: { role: 'Primary', subnets, ipam: { lifecycle: 'Persistent' } },
  },
});
