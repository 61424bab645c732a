/** Pods as the API holds them once they have their networks. */
import type { KubeObject } from '../../../src/api/objects.ts';
import { macOf } from '../../../src/allocators/addresses.ts';

export interface PodNetwork {
  readonly nadKey: string;
  readonly address: string;
  readonly role: 'primary' | 'secondary' | 'infrastructure-locked';
  readonly gateway?: string;
  readonly routes?: readonly { dest: string; nextHop: string }[];
  readonly serviceRoutes?: readonly { dest: string; nextHop: string }[];
  readonly tunnelId?: number;
}

/** A pod with its pod-networks annotation. */
export function pod(
  key: string,
  node: string,
  networks: readonly PodNetwork[],
  uid = `uid-of-${key}`,
): KubeObject {
  const [namespace = '', name = ''] = key.split('/');
  const entries = networks.map(
    ({ nadKey, address, role, gateway, routes, serviceRoutes, tunnelId }) => [
      nadKey,
      {
        ip_addresses: [address],
        mac_address: macOf(address.split('/')[0] ?? ''),
        ip_address: address,
        ...(gateway === undefined ? {} : { gateway_ips: [gateway], gateway_ip: gateway }),
        ...(routes === undefined ? {} : { routes }),
        ...(serviceRoutes === undefined ? {} : { service_routes: serviceRoutes }),
        ...(tunnelId === undefined ? {} : { tunnel_id: tunnelId }),
        role,
      },
    ],
  );
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name,
      uid,
      annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify(Object.fromEntries(entries)) },
    },
    spec: { nodeName: node },
  };
}

/** A NAD as the cluster manager leaves it. */
export const nad = (key: string, network: string): KubeObject => {
  const [namespace = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace, name, annotations: { 'k8s.ovn.org/network-name': network } },
    spec: { config: '{}' },
  };
};
