/** What pods of primary networks are told of names: what the node knows, and of what the cluster's DNS answers nothing of other tenants (decisions/network-names.md). */
import {
  answerTo,
  isHidden,
  TYPE,
  type NameAnswer,
  type NameView,
} from '../../model/rules/network-names.ts';
import type { Protocol } from './dns-relay.ts';
import { failureFor, HEADER, Reader, unlessMalformed } from './dns-message.ts';
import { CODE, ownAnswer, readAsked, type AnswerRecord, type Asked } from './own-answer.ts';

/** Who has the say: the node, the cluster's DNS, or neither, as the name is another tenant's or can't be read. */
export type AnsweredBy = 'node' | 'cluster' | 'nobody';

export interface NetworkAnswer {
  readonly by: AnsweredBy;
  readonly message: Buffer;
}

/** Asks the cluster's DNS; undefined where nobody answers. */
export type AskCluster = (query: Buffer) => Promise<Buffer | undefined>;

type Decided = Exclude<NameAnswer, { readonly kind: 'cluster' }>;

export class NetworkAnswers {
  /** Which of several records comes first is another one each time. */
  #turn = 0;

  /** The answer to a pod's question; undefined for what is no question, and where the cluster's DNS has none. */
  async answer(
    query: Buffer,
    protocol: Protocol,
    view: NameView,
    askCluster: AskCluster,
  ): Promise<NetworkAnswer | undefined> {
    const asking = readAsked(query);
    if (asking === undefined) return undefined;
    if (asking.kind === 'refused') {
      // What can't be read is not repeated.
      const readable = asking.code === CODE.refused ? query : query.subarray(0, HEADER);
      return { by: 'nobody', message: failureFor(readable, asking.code) };
    }
    const { asked } = asking;
    const found = answerTo(view, asked.name, asked.type);
    if (found.kind !== 'cluster') return this.#told(query, asked, found, protocol);
    const answer = await askCluster(query);
    if (answer === undefined) return undefined;
    const records = recordsOf(answer, asked);
    if (records === undefined) return { by: 'nobody', message: failureFor(query) };
    const { decided, aliases } = atAlias(records, asked, view);
    if (decided?.kind === 'known') return this.#told(query, asked, decided, protocol, aliases);
    return decided !== undefined || tellsOfOthers(records, view)
      ? this.#told(query, asked, { kind: 'missing', zone: zoneOf(asked.name) }, protocol)
      : { by: 'cluster', message: answer };
  }

  #told(
    query: Buffer,
    asked: Asked,
    decided: Decided,
    protocol: Protocol,
    aliases: readonly AnswerRecord[] = [],
  ): NetworkAnswer {
    this.#turn += 1;
    const isKnown = decided.kind === 'known';
    const answer =
      (asked.edns?.version ?? 0) > 0
        ? { code: CODE.badVersion, records: [], additional: [] }
        : {
            code: isKnown ? CODE.good : CODE.missing,
            zone: decided.zone,
            // An alias to what is not told says its name.
            records: isKnown ? [...aliases, ...decided.records] : [],
            additional: isKnown ? decided.additional : [],
          };
    return {
      by: isKnown ? 'node' : 'nobody',
      message: ownAnswer(query, asked, answer, protocol, this.#turn),
    };
  }
}

/** Types of records whose data begin with a name, and the bytes before it (RFC 1035 §3.3, RFC 2782, RFC 6672, RFC 9460). */
const NAME_IN: ReadonlyMap<number, number> = new Map([
  [2, 0],
  [TYPE.CNAME, 0],
  [6, 0],
  [TYPE.PTR, 0],
  [15, 2],
  [TYPE.SRV, 6],
  [39, 0],
  [64, 2],
  [65, 2],
]);

interface Told {
  readonly owner: string;
  readonly type: number;
  /** The name that it leads to. */
  readonly target?: string;
}

/** Records of all sections; undefined for a message that can't be read, or is about something else. */
function recordsOf(message: Buffer, asked: Asked): readonly Told[] | undefined {
  if (message.length < HEADER) return undefined;
  return unlessMalformed(() => {
    const reader = new Reader(message);
    if (message.readUInt16BE(4) > 1) return undefined;
    if (message.readUInt16BE(4) === 1) {
      if (reader.name() !== asked.name || reader.number(2) !== asked.type) return undefined;
      reader.number(2);
    }
    const count = [6, 8, 10].reduce((sum, at) => sum + message.readUInt16BE(at), 0);
    return Array.from({ length: count }, (): Told => {
      const owner = reader.name();
      const type = reader.number(2);
      reader.take(6);
      const length = reader.number(2);
      const end = reader.at + length;
      const before = NAME_IN.get(type);
      if (before === undefined) {
        reader.take(length);
        return { owner, type };
      }
      reader.take(before);
      const target = reader.name();
      reader.at = end;
      reader.take(0);
      return { owner, type, target };
    });
  });
}

/** Where an alias leads to a name that is another one here, or none, what that is, and the aliases up to it. */
function atAlias(
  records: readonly Told[],
  asked: Asked,
  view: NameView,
): { readonly decided?: Decided; readonly aliases: readonly AnswerRecord[] } {
  const aliases: AnswerRecord[] = [];
  if (asked.type === TYPE.CNAME) return { aliases };
  const targets = new Map(
    records.flatMap(({ owner, type, target }) =>
      type === TYPE.CNAME && target !== undefined ? [[owner, target]] : [],
    ),
  );
  for (let { name } = asked; ;) {
    const target = targets.get(name);
    if (target === undefined) return { aliases };
    // Aliases in circles end.
    targets.delete(name);
    aliases.push({ name, type: 'CNAME', target });
    const decided = answerTo(view, target, asked.type);
    if (decided.kind !== 'cluster') return { decided, aliases };
    name = target;
  }
}

const tellsOfOthers = (records: readonly Told[], view: NameView): boolean =>
  records.some(
    ({ owner, target }) =>
      isHidden(view, owner) || (target !== undefined && isHidden(view, target)),
  );

/** Of a name that nothing else is known of: the top, which every name is below. */
const zoneOf = (name: string): string => {
  const labels = name.split('.');
  return labels.slice(Math.max(0, labels.length - 2)).join('.');
};
