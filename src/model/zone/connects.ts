/** Connections of networks. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { Network } from '../model.ts';
import { memberOf, networkIdsOf, type Connect, type ConnectMember } from '../read/connects.ts';
import type { NetworkTables } from './networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type ConnectTables = ReturnType<typeof connectTables>;

export function connectTables(known: ZoneBasis & NetworkTables) {
  /** Connections as soon as they have subnets. */
  const connects = new FactTable<
    [connect: string],
    Connect,
    {
      member: [connect: string, networkId: string];
      network: [networkId: string];
      way: [connect: string, fromId: string, toId: string];
      /** Connections by which a network's services are reached over the external bridge. */
      bridgedTo: [networkId: string];
    }
  >('connects', known.recorder, {
    indexes: {
      member: ({ name, members }) => members.map(({ networkId }) => [name, String(networkId)]),
      network: ({ members }) => members.map(({ networkId }) => String(networkId)),
      way: ({ name, members }) =>
        members.flatMap((from) =>
          members
            .filter((to) => to !== from)
            .map((to): [string, string, string] => [
              name,
              String(from.networkId),
              String(to.networkId),
            ]),
        ),
      bridgedTo: (connect) =>
        connect.bridged.length === 0 ? [] : networkIdsOf(connect).map(String),
    },
  });
  /** Networks of connections, each whatever other networks its connection has. */
  const connectMembers = new DerivedFacts<[connect: string, networkId: string], ConnectMember>(
    'connectMembers',
    known.graph,
    connects.distinct('member'),
    (connect, id) => memberOf(connects.get(connect), Number(id)),
    { object: (connect) => `ClusterNetworkConnect ${connect}` },
  );

  /** Networks of a connection, as far as they are known. */
  const membersOf = (connect: string): readonly Network[] =>
    (connects.part(connect, 'members') ?? [])
      .map(({ networkId }) => known.networkOfId(networkId))
      .filter((network) => network !== undefined);

  /** Networks that reach services of a network of the connection over the external bridge. */
  function bridgedClients(connect: string, networkId: number): readonly string[] {
    const members = connects.part(connect, 'members') ?? [];
    const bridged = connects.part(connect, 'bridged') ?? [];
    const ids = bridged.includes(networkId) ? networkIdsOf({ members, bridged }) : bridged;
    return ids.filter((id) => id !== networkId).flatMap((id) => known.networksOfId(id));
  }

  return {
    connects,
    connectMembers,
    membersOf,
    bridgedClients,

    /** Networks of a connection, also those that it does not link. */
    idsOf: (connect: string): readonly string[] =>
      networkIdsOf({
        members: connects.part(connect, 'members') ?? [],
        bridged: connects.part(connect, 'bridged') ?? [],
      }).flatMap((id) => known.networksOfId(id)),

    isMember: (connect: string, network: string): boolean =>
      membersOf(connect).some(({ name }) => name === network),

    /** Connections that share the services of a network. */
    connectsSharingServices: (networkId: number): readonly string[] =>
      connects
        .keysBy('network', String(networkId))
        .filter((connect) => connects.part(connect, 'hasServices') === true),
  };
}
