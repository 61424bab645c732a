/** Ports by which load balancers outside learn whether this node has endpoints of a service. */
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { exposedService } from '../exposed-services.ts';
import type { RowOf } from '../reconcile/claims.ts';

/** Name of the "database" whose rows are ports on which the daemon answers. */
export const HEALTH_CHECKS = 'health checks';

/** What is answered on a port; its key is the port. */
export interface HealthCheckColumns {
  readonly namespace: string;
  readonly name: string;
  /** Ready endpoints of the service on this node. */
  readonly localEndpoints: number;
}

export type HealthCheckRow = RowOf<{ readonly port: HealthCheckColumns }>;

export const healthChecks = feature({
  name: 'host/health-check',
  over: (facts: ZoneFacts) => facts.backends,
  objects: (_facts, [, key]) => [`Service ${key}`],
  // As with node ports: of two networks that want one port the older one has it.
  rank: (facts, [network]) => facts.networks.part(network, 'id') ?? 0,
  rules: {
    answer: {
      text: 'A load balancer with a local external traffic policy learns at healthCheckNodePort whether this node has endpoints.',
      source: "Kubernetes' Service API, spec.healthCheckNodePort",
    },
  },
  claims: [],
  build(facts, [network, key], out) {
    const port = facts.services.get(key)?.healthCheckNodePort;
    const service = port === undefined ? undefined : exposedService(facts, network, key)?.service;
    if (service === undefined) return;
    const columns: HealthCheckColumns = {
      namespace: service.namespace,
      name: service.name,
      localEndpoints: facts.backends.get(network, key)?.readyHere ?? 0,
    };
    out.row({
      database: HEALTH_CHECKS,
      table: 'port',
      key: String(port),
      columns: { ...columns },
      containers: [],
      rule: 'answer',
      object: `Service ${key}`,
    });
  },
});
