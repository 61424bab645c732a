/** Numbers that names of ports stand for on pods of selections. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { NetworkName } from '../model.ts';
import type { Protocol } from '../read/policies.ts';
import type { NumberKey, SelectionTables } from './pod-selections.ts';
import type { SelectionKey } from './policies.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** A number that a name of a port stands for on some pods of a selection. */
interface NamedNumber {
  readonly network: NetworkName;
  readonly selection: string;
  readonly protocol: Protocol;
  readonly name: string;
  readonly port: number;
}

export const namedPortTables = ({ graph, selectedPods }: ZoneBasis & SelectionTables) => ({
  namedNumbers: new DerivedFacts<
    NumberKey,
    NamedNumber,
    { name: [...SelectionKey, protocol: Protocol, name: string] }
  >(
    'namedNumbers',
    graph,
    selectedPods.distinct('port'),
    (network, selection, protocol, name, port) => ({
      network,
      selection,
      protocol,
      name,
      port: Number(port),
    }),
    {
      object: (network) => `network ${network}`,
      indexes: {
        name: ({ network, selection, protocol, name }) => [[network, selection, protocol, name]],
      },
    },
  ),
});
