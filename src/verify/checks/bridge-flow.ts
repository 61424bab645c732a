/** Flows of the external bridge as checks read them: by their matches, and by what their actions do. */
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { Flow } from '../snapshot.ts';

/** Of the host's own connections. */
export const HOST_MARK = 2;

export interface BridgeContext {
  /** Networks by the number of their patch port; undefined for a patch port of nobody. */
  readonly patches: ReadonlyMap<
    number,
    { readonly name: string; readonly network?: VerifiedNetwork }
  >;
  readonly intent: Intent;
  readonly services: VerifiedServices;
  readonly findings: Findings;
}

export type Match = ReadonlyMap<string, string>;

/** Fields by name; without a value the name of a protocol. */
export const matchOf = (match: string): Match =>
  new Map(
    match
      .split(',')
      .filter((part) => part !== '')
      .map((part): [string, string] => {
        const at = part.indexOf('=');
        return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
      }),
  );

const numbers = (actions: string, pattern: RegExp): number[] =>
  [...actions.matchAll(pattern)].map(([, number]) => Number(number));

export const outputsOf = (actions: string): number[] => numbers(actions, /\boutput:(\d+)/g);
export const connectionMarks = (actions: string): number[] =>
  numbers(actions, /set_field:(0x[0-9a-f]+|\d+)->ct_mark/g);
export const packetMarks = (actions: string): number[] =>
  numbers(actions, /set_field:(0x[0-9a-f]+|\d+)->pkt_mark/g);
export const tablesOf = (actions: string): number[] => [
  ...numbers(actions, /\btable=(\d+)/g),
  ...numbers(actions, /resubmit\(,(\d+)\)/g),
];
/** Without what is learned: that is judged where it is met. */
export const withoutLearning = (actions: string): string =>
  actions.replaceAll(/learn\((?:[^()]|\([^()]*\))*\)/g, '');

export const flowText = ({ table, priority, match }: Flow): string =>
  `flow of the external bridge, table ${table}, priority ${priority}, ${match === '' ? 'all' : match}`;

export const markedBy = (mark: number, { intent }: BridgeContext): VerifiedNetwork | undefined =>
  intent.networks.find(({ connectionMark }) => connectionMark === mark);
