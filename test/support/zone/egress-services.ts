/** A zone with one EgressService on the load balancer `lb`, and pods behind it: here and, on the default network, at another node. */
import type { EgressServiceFacts } from '../../../src/model/read/egress-services.ts';
import { service, withServices } from './services.ts';
import { bluePod, bluePodDefault, exampleZone, type Zone } from './zones.ts';

const own = {
  ...bluePodDefault,
  namespace: 'default',
  pod: 'web',
  role: 'primary',
} as const;
const far = {
  ...own,
  pod: 'far',
  node: 'ovn-worker2',
  addresses: ['10.244.1.5/24'],
  macAddress: '0a:58:0a:f4:01:05',
};

export function egressServiceZone(
  changes: Partial<EgressServiceFacts>,
  spec: object = {},
  namespace = 'default',
): Zone {
  const key = `${namespace}/lb`;
  const lb = service(
    key,
    { type: 'LoadBalancer', clusterIPs: ['10.96.3.3'], ...spec },
    { loadBalancer: { ingress: [{ ip: '172.18.0.239' }, { ip: '172.18.0.240' }] } },
  );
  return {
    ...withServices(exampleZone, lb),
    selectors: { [key]: { app: 'web' } },
    attachments: namespace === 'blue' ? [bluePod] : [own],
    remoteAttachments: namespace === 'blue' ? [] : [far],
    pods: (namespace === 'blue' ? [bluePod] : [own, far]).map(({ pod, node }) => ({
      namespace,
      name: pod,
      node,
      labels: { app: 'web' },
      namedPorts: [],
    })),
    egressServices: [
      {
        key,
        namespace,
        name: 'lb',
        created: '',
        isByNetwork: false,
        host: 'ovn-worker',
        isHere: true,
        ...changes,
      },
    ],
  };
}
