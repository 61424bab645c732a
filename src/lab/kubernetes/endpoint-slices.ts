/** A stand-in for the EndpointSlice controller of kube-controller-manager: the endpoints of services with a selector. Pure. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { KubeObject } from '../../api/objects.ts';
import { matchesSelector } from '../../api/selectors.ts';
import {
  hasEnded,
  isReady,
  portNumber,
  type LabPodObject,
  type LabServiceObject,
} from './objects.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
/** As the controller calls itself: Heddle mirrors what it made. */
const CONTROLLER = 'endpointslice-controller.k8s.io';

export interface SliceObject extends KubeObject {
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly object[];
  readonly endpoints: readonly object[];
}

/** Whether the controller made it. */
export const isOurs = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.[MANAGED_BY] === CONTROLLER;

/** The slices that services of a namespace should have: one for each family of addresses and each set of port numbers of its pods. */
export function endpointSlices(
  services: readonly LabServiceObject[],
  pods: readonly LabPodObject[],
): readonly SliceObject[] {
  return services.flatMap((service) => {
    const { selector = {}, type } = service.spec;
    if (type === 'ExternalName' || Object.keys(selector).length === 0) return [];
    const { namespace } = service.metadata;
    const chosen = pods
      .filter(({ metadata }) => metadata.namespace === namespace)
      .filter(({ metadata }) => matchesSelector({ matchLabels: selector }, metadata.labels));
    return slicesOf(service, chosen);
  });
}

function slicesOf(service: LabServiceObject, pods: readonly LabPodObject[]): SliceObject[] {
  const slices = new Map<string, SliceObject & { endpoints: object[] }>();
  for (const pod of pods.filter((one) => !hasEnded(one)))
    for (const { ip } of pod.status?.podIPs ?? []) {
      const addressType = isIPv6(ip) ? 'IPv6' : 'IPv4';
      const ports = portsFor(service, pod);
      const of = JSON.stringify([addressType, ports]);
      const slice = slices.get(of) ?? { ...emptySlice(service, of), addressType, ports };
      slice.endpoints.push(endpoint(service, pod, ip));
      slices.set(of, slice);
    }
  return [...slices.values()];
}

function portsFor({ spec }: LabServiceObject, pod: LabPodObject): object[] {
  return (spec.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port, targetPort = port }) => {
    const number = portNumber(targetPort, pod.spec.containers);
    return number === undefined ? [] : [{ name, protocol, port: number }];
  });
}

function emptySlice(
  { metadata: { namespace = '', name, uid = '' } }: LabServiceObject,
  content: string,
): KubeObject & { endpoints: object[] } {
  const suffix = createHash('sha256').update(content).digest('hex').slice(0, 8);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      name: `${name}-${suffix}`,
      labels: { [SERVICE_NAME]: name, [MANAGED_BY]: CONTROLLER },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid, controller: true }],
    },
    endpoints: [],
  };
}

function endpoint({ spec }: LabServiceObject, pod: LabPodObject, ip: string): object {
  const { namespace, name, uid, deletionTimestamp } = pod.metadata;
  const serving = isReady(pod);
  const terminating = deletionTimestamp !== undefined;
  return {
    addresses: [ip],
    conditions: {
      ready: spec.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    nodeName: pod.spec.nodeName,
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}
