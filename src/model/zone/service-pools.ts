/** Pools of addresses that networks have for their services, as their NADs say them. */
import { SERVICE_POOL } from '../../api/annotations/network-annotations.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { isInPool, readServicePool, sharedPool } from '../rules/service-pools.ts';
import type { NetworkTables } from './networks.ts';
import type { ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** Ranges of a network's services. */
interface ServicePool {
  readonly cidrs: readonly string[];
}

export type PoolTables = ReturnType<typeof poolTables>;

export function poolTables(known: ZoneBasis & NetworkTables) {
  const { settings, graph, definitions, registrations, networks } = known;
  /** Networks with a pool. */
  const servicePools = new DerivedFacts<[network: string], ServicePool>(
    'servicePools',
    graph,
    networks,
    (name) => {
      const nads = registrations.part(name, 'nads') ?? [];
      const texts = nads.map((nad) => definitions.part(nad, 'servicePool'));
      if (texts.every((text) => text === undefined)) return undefined;
      const network = networks.get(name);
      const cidrs = network === undefined ? [] : sharedPool(texts, network, settings);
      return cidrs.length === 0 ? undefined : { cidrs };
    },
    { object: (network) => `network ${network}` },
  );

  /** What is wrong with a NAD's pool, or with it beside those of other NADs. */
  function problemOf(pool: string, name: string): string | undefined {
    const network = networks.peek(name);
    if (network === undefined) return undefined;
    const read = readServicePool(pool, network, settings);
    if (read.kind === 'invalid') return read.error;
    const other = (registrations.peek(name)?.nads ?? []).find(
      (nad) => definitions.peek(nad)?.servicePool !== pool,
    );
    return other === undefined
      ? undefined
      : `annotation ${SERVICE_POOL}: NetworkAttachmentDefinition ${other} of the same network has another one: services have addresses of ranges that all of them have; give them the same`;
  }

  return {
    servicePools,

    /** True for an address that services of the network may have. */
    isInPool(name: string, address: string): boolean {
      const cidrs = servicePools.part(name, 'cidrs') ?? [];
      if (cidrs.length === 0) return false;
      const network = networks.get(name);
      return network !== undefined && isInPool(address, cidrs, network);
    },

    *poolProblems(): Iterable<ModelProblem> {
      for (const nad of definitions.keysBy('pooled')) {
        const { servicePool = '', network = '' } = definitions.peek(nad) ?? {};
        const message = problemOf(servicePool, network);
        if (message !== undefined) yield { object: `NetworkAttachmentDefinition ${nad}`, message };
      }
    },
  };
}
