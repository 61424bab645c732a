/** Services that networks of a connection reach over the external bridge, where pod subnets overlap (decisions/overlapping-services.md). */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { ServicePort } from '../read/services.ts';
import type { backendTables } from './backends.ts';
import type { ConnectTables } from './connects.ts';
import type { NetworkTables } from './networks.ts';
import type { PlaceKey, ServiceTables } from './services.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** A service on a network, as networks beyond the external bridge reach it. */
export interface BridgedService {
  /** Who reaches it, each by the first connection that says so, in the order of the names. */
  readonly ways: readonly { readonly connect: string; readonly client: string }[];
  readonly ports: readonly Pick<ServicePort, 'protocol' | 'port'>[];
  /** Connections that don't share it, and why. */
  readonly refusals: readonly { readonly connect: string; readonly message: string }[];
}

export type BridgedWay = [connect: string, client: string, network: string, service: string];

export function bridgedServiceTables(
  known: ZoneBasis &
    NetworkTables &
    ConnectTables &
    ServiceTables &
    ReturnType<typeof backendTables>,
) {
  const { networks, connects, services, serviceNetworks, backends } = known;
  const idOf = (network: string): number => networks.part(network, 'id') ?? 0;
  const connectsTo = (network: string): readonly string[] =>
    connects.keysBy('bridgedTo', String(idOf(network)));

  /** Of several networks of a service that a client reaches the one by which traffic from outside comes answers, else the oldest. */
  function isAnswering(network: string, client: string, service: string): boolean {
    const rivals = (serviceNetworks.part(service, 'networks') ?? []).filter((other) =>
      connectsTo(other).some((connect) =>
        known.bridgedClients(connect, idOf(other)).includes(client),
      ),
    );
    const isEntry = (name: string): boolean => backends.get(name, service)?.isEntry === true;
    const [oldest] = rivals.toSorted((a, b) => idOf(a) - idOf(b));
    return network === (rivals.find(isEntry) ?? oldest);
  }

  function refusalOf(connect: string, service: string): string | undefined {
    const other = known.sharedBefore(connect, service);
    if (other !== undefined)
      return `service ${other} of another network of the connection has its cluster IP and port too; give one of the two another cluster IP`;
    const facts = services.get(service);
    const isOutside =
      (facts?.externalIps.length ?? 0) > 0 ||
      facts?.ports.some(({ nodePort }) => nodePort !== undefined) === true;
    return facts?.isInternallyLocal === true && isOutside
      ? 'over the external bridge internalTrafficPolicy: Local can’t be told from node ports and external addresses, which lead to all nodes; make another service for those, or take the policy off'
      : undefined;
  }

  return {
    bridgedServices: new DerivedFacts<PlaceKey, BridgedService, { way: BridgedWay }>(
      'bridgedServices',
      known.graph,
      serviceNetworks.distinct('place'),
      (network, service) => {
        const candidates = connectsTo(network);
        if (candidates.length === 0) return undefined;
        const facts = services.get(service);
        const found = backends.get(network, service);
        if (facts === undefined || found === undefined) return undefined;
        const own = serviceNetworks.part(service, 'networks') ?? [];
        const clients = new Map<string, string>();
        const refusals: { connect: string; message: string }[] = [];
        for (const connect of candidates.toSorted()) {
          const asking = known
            .bridgedClients(connect, idOf(network))
            .filter((client) => !own.includes(client));
          if (asking.length === 0) continue;
          const message = refusalOf(connect, service);
          if (message !== undefined) refusals.push({ connect, message });
          else
            for (const client of asking)
              if (!clients.has(client) && isAnswering(network, client, service))
                clients.set(client, connect);
        }
        // As where networks are linked: processes of hosts are not connected.
        const ports = facts.ports.filter(
          (_, index) => found.ports[index]?.hasHostEndpoints === false,
        );
        return {
          ways: [...clients]
            .map(([client, connect]) => ({ connect, client }))
            .sort((a, b) => (a.client < b.client ? -1 : 1)),
          ports: ports.map(({ protocol, port }) => ({ protocol, port })),
          refusals,
        };
      },
      {
        object: (_network, service) => `Service ${service}`,
        indexes: {
          way: ({ ways, ports }, [network, service]) =>
            ports.length === 0
              ? []
              : ways.map(({ connect, client }): BridgedWay => [connect, client, network, service]),
        },
      },
    ),
  };
}
