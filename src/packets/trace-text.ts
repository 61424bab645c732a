/**
 * What ovn-trace(8) prints in detail, as values: the stages that a packet meets, what it is turned into, and where it is put out. Pure; of what it does not
 * know it keeps the text.
 */

/** Where in the logical network something happens. */
interface TracePlace {
  readonly pipeline: 'ingress' | 'egress';
  readonly datapath: string;
  readonly inport?: string;
  readonly outport?: string;
}

/** A flow that the packet meets, with what it does. */
export interface TraceStep {
  readonly kind: 'step';
  readonly place: TracePlace;
  readonly table: number;
  /** `ls_in_acl_eval`; '' where northd does not say. */
  readonly stage: string;
  readonly match: string;
  readonly priority: number;
  /** First 32 bits of the UUID of the logical flow; absent where no flow matched, which drops. */
  readonly uuid?: string;
  readonly actions: readonly string[];
  readonly aside?: Aside;
}

/** The packet is another one from here on: `ct_snat(ip4.src=172.18.0.2)`. */
interface TraceChange {
  readonly kind: 'change';
  readonly place: TracePlace;
  readonly text: string;
  readonly aside?: Aside;
}

export interface TraceOutput {
  readonly kind: 'output';
  readonly place: TracePlace;
  readonly port: string;
  /** Of the Port_Binding: '' for a pod, `remote`, `localnet`, `patch` … */
  readonly type: string;
  /** It goes on at the other end of that port. */
  readonly goesOn: boolean;
  readonly aside?: Aside;
}

/** What the program can't follow: `*** TTL underflow`. */
interface TraceTrouble {
  readonly kind: 'trouble';
  readonly place: TracePlace;
  readonly text: string;
  readonly aside?: Aside;
}

/** Another packet than the one that is traced: a refusal, a question for a neighbour, or a copy. */
type Aside = 'refusal' | 'question' | 'copy';

export type TraceEvent = TraceStep | TraceChange | TraceOutput | TraceTrouble;

/** ovn-trace printed something that is no trace. */
export class TraceTextError extends Error {
  readonly code = 'TRACE_UNREADABLE';
}

const PIPELINE = /^(ingress|egress)\(dp="(.*?)"(?:, inport="(.*?)")?(?:, outport="(.*?)")?\)$/;
const STEP =
  /^(\d+)\. (?:([a-z]\w*) \([^()]*\): |([a-z]\w*): |\([^()]*\): )?(.*), priority (\d+), uuid ([0-9a-f]{8})$/;
const NO_MATCH = /^(\d+)\. (?:([a-z]\w*): )?no match \(implicit drop\)$/;
const OUTPUT = /^\/\* output to "(.*)", type "(.*)" \*\/$/;

/** Titles of what is done to another packet than this one (ovn-actions(7)). */
const ASIDES: readonly (readonly [title: RegExp, aside: Aside])[] = [
  [/^(tcp_reset|sctp_abort|icmp4|icmp6|icmp4_error|icmp6_error|reject)\b/, 'refusal'],
  [/^(arp|nd_ns|nd_na|nd_na_router|igmp)\b/, 'question'],
  [/^(clone|sample)\b/, 'copy'],
];

interface Line {
  readonly indent: number;
  readonly text: string;
  readonly isTitle: boolean;
}

/** Lines that say something; a title is underlined as long as it is. */
function linesOf(text: string): readonly Line[] {
  const raw = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const lines: Line[] = [];
  for (const [index, line] of raw.entries()) {
    const trimmed = line.trim();
    if (/^-+$/.test(trimmed) && lines.at(-1)?.isTitle === true) continue;
    const next = raw[index + 1]?.trim() ?? '';
    lines.push({
      indent: line.length - line.trimStart().length,
      text: trimmed,
      isTitle: /^-+$/.test(next) && next.length === trimmed.length,
    });
  }
  return lines;
}

/** Where an aside ends: at the first line that is not of it. */
interface OpenAside {
  readonly aside: Aside;
  /** Where it began. */
  readonly place: TracePlace;
  readonly within: (indent: number) => boolean;
}

/** Events in the order in which they happen. Throws TraceTextError. */
export function readTrace(text: string): readonly TraceEvent[] {
  const lines = linesOf(text);
  const events: TraceEvent[] = [];
  const asides: OpenAside[] = [];
  let place: TracePlace | undefined;
  let step: (TraceStep & { readonly actions: string[] }) | undefined;
  for (const [index, { indent, text: line, isTitle }] of lines.entries()) {
    while (asides.at(-1)?.within(indent) === false) {
      place = asides.pop()?.place;
      step = undefined;
    }
    const open = asides.at(-1)?.aside;
    const aside = open === undefined ? {} : { aside: open };
    const pipeline = isTitle ? placeOf(line) : undefined;
    if (pipeline !== undefined) {
      place = pipeline;
      step = undefined;
      continue;
    }
    if (place === undefined)
      throw new TraceTextError(`ovn-trace printed something that is no trace: ${line}`);
    if (isTitle) {
      step = undefined;
      const kind = ASIDES.find(([title]) => title.test(line))?.[1];
      if (kind === undefined) events.push({ kind: 'change', place, text: line, ...aside });
      else asides.push({ aside: kind, place, within: insideOf(indent, lines[index - 1]) });
      continue;
    }
    const found = stepOf(line, place);
    if (found !== undefined) {
      step = { ...found, ...aside, actions: [] };
      events.push(step);
      continue;
    }
    const [, port, type] = OUTPUT.exec(line) ?? [];
    if (port !== undefined && type !== undefined) {
      const after = lines[index + 1];
      const goesOn = after?.isTitle === true && placeOf(after.text)?.pipeline === 'ingress';
      events.push({ kind: 'output', place, port, type, goesOn, ...aside });
    } else if (line.startsWith('***'))
      events.push({ kind: 'trouble', place, text: line, ...aside });
    else step?.actions.push(line);
  }
  if (events.length === 0) throw new TraceTextError('ovn-trace printed no trace');
  return events;
}

/**
 * Lines below a title: deeper ones; those as deep as the title too, if nothing follows it in the list that it ends. That is so where it stands further out
 * than what is before it.
 */
function insideOf(indent: number, before: Line | undefined): (one: number) => boolean {
  const goesOn = before !== undefined && indent >= before.indent;
  return (one) => (goesOn ? one > indent : one >= indent);
}

function placeOf(line: string): TracePlace | undefined {
  const [, pipeline, datapath, inport, outport] = PIPELINE.exec(line) ?? [];
  if ((pipeline !== 'ingress' && pipeline !== 'egress') || datapath === undefined) return undefined;
  return {
    pipeline,
    datapath,
    ...(inport === undefined ? {} : { inport }),
    ...(outport === undefined ? {} : { outport }),
  };
}

function stepOf(line: string, place: TracePlace): TraceStep | undefined {
  const [, table, named, called, match = '', priority, uuid] = STEP.exec(line) ?? [];
  if (table !== undefined && uuid !== undefined)
    return {
      kind: 'step',
      place,
      table: Number(table),
      stage: named ?? called ?? '',
      match,
      priority: Number(priority),
      uuid,
      actions: [],
    };
  const [, unmatched, itsStage = ''] = NO_MATCH.exec(line) ?? [];
  return unmatched === undefined
    ? undefined
    : {
        kind: 'step',
        place,
        table: Number(unmatched),
        stage: itsStage,
        match: '',
        priority: 0,
        actions: [],
      };
}
