/** What a trace comes to: where the packet ends, and which of the flows that it met decided something. Pure. */
import { parseAddress } from '../allocators/addresses.ts';
import type { TraceEvent, TraceOutput, TraceStep } from './trace-text.ts';

export type TraceEnd =
  /** Put out at a port of OVN. */
  | { readonly kind: 'output'; readonly port: string; readonly type: string }
  /** `by` is the flow that decided it, `at` the one that carried it out. */
  | {
      readonly kind: 'dropped' | 'refused';
      readonly by: TraceStep;
      readonly at: TraceStep;
    }
  /** A router asks who has the next address; the packet waits for that. */
  | { readonly kind: 'asks'; readonly at: TraceStep }
  /** The program could not go on. */
  | { readonly kind: 'unknown'; readonly why: string };

/** Verdicts of an ACL: bits of register 8 that ovn-northd(8) sets when it evaluates ACLs. */
const REFUSES = /\breg8\[18\] = 1;/;
const DENIES = /\breg8\[17\] = 1;/;
const ALLOWS = /\breg8\[16\] = 1;/;
const ACL_EVALUATION = /^ls_(in|out)_acl(_after_lb)?_eval$/;
const ACL_ACTION = /^ls_(in|out)_acl(_after_lb)?_action$/;
const SECURITY_CHECK = /^ls_(in|out)_check_port_sec$/;
const SECURITY_ACTION = /^ls_(in|out)_apply_port_sec$/;

const isAclStage = (stage: string): boolean => ACL_EVALUATION.test(stage);

const says = ({ actions }: TraceStep, pattern: RegExp): boolean =>
  actions.some((action) => pattern.test(action));

const isDrop = (step: TraceStep): boolean =>
  step.uuid === undefined || step.actions.some((action) => action === 'drop;');

/** What sends a packet nowhere: values that are set, what is noted of it, and comments of the program. */
const IDLE_ACTION =
  /^(?:[\w.[\]]+ (?:=|<->) [^;]*;|(?:log|sample|set_queue|set_meter)\(.*|ct_clear;|\/\*.*\*\/)$/;

/** A flow without an action that sends the packet on drops it, whatever else it does (ovn-northd(8), ACL action). */
const isDeadEnd = (step: TraceStep): boolean =>
  step.actions.every((action) => IDLE_ACTION.test(action));

const isRefusal = (step: TraceStep): boolean =>
  step.actions.some((action) =>
    /^(reject|tcp_reset|sctp_abort|icmp4|icmp6|icmp4_error|icmp6_error) \{/.test(action),
  );

const isQuestion = (step: TraceStep): boolean =>
  step.actions.some((action) => /^(arp|nd_ns) \{/.test(action));

/** What each way of the packet ends with; several where OVN floods it. */
export function traceEnds(events: readonly TraceEvent[]): readonly TraceEnd[] {
  const main = events.filter(({ aside }) => aside === undefined);
  const steps = main.filter((event) => event.kind === 'step');
  const outputs = main.filter((event): event is TraceOutput => event.kind === 'output');
  const ends: TraceEnd[] = outputs
    .filter(({ goesOn }) => !goesOn)
    .map(({ port, type }) => ({ kind: 'output', port, type }));
  for (const step of steps) {
    if (isRefusal(step)) ends.push({ kind: 'refused', by: deciderOf(step, steps), at: step });
    else if (isDrop(step) || isDeadEnd(step))
      ends.push({ kind: 'dropped', by: deciderOf(step, steps), at: step });
  }
  if (ends.length > 0) return ends;
  // A packet that is put out all the same waits for the answer at most.
  const question = steps.find(isQuestion);
  if (question !== undefined) return [{ kind: 'asks', at: question }];
  const trouble = main.find((event) => event.kind === 'trouble');
  return [
    {
      kind: 'unknown',
      why: trouble === undefined ? 'ovn-trace does not say where it ends' : trouble.text,
    },
  ];
}

/** Flows that carry out what another one decided lead to that one. */
function deciderOf(at: TraceStep, steps: readonly TraceStep[]): TraceStep {
  const before = steps.slice(0, steps.indexOf(at));
  const isHere = ({ place }: TraceStep): boolean =>
    place.datapath === at.place.datapath && place.pipeline === at.place.pipeline;
  if (ACL_ACTION.test(at.stage))
    return (
      before.findLast(
        (step) =>
          isHere(step) &&
          ACL_EVALUATION.test(step.stage) &&
          (says(step, DENIES) || says(step, REFUSES)),
      ) ?? at
    );
  if (SECURITY_ACTION.test(at.stage))
    return before.findLast((step) => isHere(step) && SECURITY_CHECK.test(step.stage)) ?? at;
  return at;
}

/** Stages that end a packet before its switch balances it (ovn-northd(8), Ingress ACL Action). */
const BEFORE_LB = /^ls_in_(apply_port_sec|acl_action)$/;

/** Whether a switch ends a packet before its load balancers see it. */
export const isStoppedBeforeLb = (events: readonly TraceEvent[], datapath: string): boolean =>
  traceEnds(events).some(
    (end) => 'at' in end && end.at.place.datapath === datapath && BEFORE_LB.test(end.at.stage),
  );

/** What a flow does that people want to see. */
export type DecisionKind =
  | 'allows'
  | 'drops'
  | 'refuses'
  | 'passes'
  | 'routes'
  | 'reroutes'
  | 'balances'
  | 'translates';

export interface Decision {
  readonly kind: DecisionKind;
  readonly step: TraceStep;
  /** What it does to the packet, in a few words: `from 172.18.0.2`, `to 10.0.0.5:80 or 10.0.0.6:80`. */
  readonly text?: string;
}

/** Flows that decide something for the packet, in the order in which it meets them; refusals and drops are those of `ends`. */
export function decisionsOf(
  events: readonly TraceEvent[],
  ends: readonly TraceEnd[],
): readonly Decision[] {
  const stopping = new Map(
    ends.flatMap((end) =>
      end.kind === 'dropped' || end.kind === 'refused' ? [[end.by, end.kind] as const] : [],
    ),
  );
  return events.flatMap((event): readonly Decision[] => {
    if (event.kind !== 'step' || event.aside !== undefined) return [];
    const stop = stopping.get(event);
    if (stop !== undefined)
      return [{ kind: stop === 'refused' ? 'refuses' : 'drops', step: event }];
    return decisionOf(event);
  });
}

function decisionOf(step: TraceStep): readonly Decision[] {
  const { stage, actions, priority } = step;
  if (isAclStage(stage)) return says(step, ALLOWS) ? [{ kind: 'allows', step }] : [];
  const backends = backendsOf(step);
  if (backends.length > 0) return [{ kind: 'balances', step, text: `to ${backends.join(' or ')}` }];
  for (const action of actions) {
    const [, from] = /\bct_snat(?:_in_czone)?\((?:[^)]*=)?([\da-f.:]+)[,)]/.exec(action) ?? [];
    if (from !== undefined) return [{ kind: 'translates', step, text: `from ${from}` }];
    const [, to] = /\bct_dnat(?:_in_czone)?\((?:[^)]*=)?([\da-f.:]+)[,)]/.exec(action) ?? [];
    if (to !== undefined) return [{ kind: 'translates', step, text: `to ${to}` }];
  }
  // The lowest flow of the stage lets everything on that no policy is about.
  if (stage === 'lr_in_policy' && priority > 0) {
    const way = via(step);
    return [{ kind: way.text === undefined ? 'passes' : 'reroutes', step, ...way }];
  }
  if (stage === 'lr_in_ip_routing' && priority > 0) return [{ kind: 'routes', step, ...via(step) }];
  return [];
}

/** Next hop and port of a route or policy, as registers get them (ovn-northd(8), IP Routing). */
function via({ actions }: TraceStep): { readonly text?: string } {
  const values = actions.flatMap((action) => {
    const [, value = ''] = /^(?:reg0|xxreg0) = (.+);$/.exec(action) ?? [];
    return parseAddress(value) === undefined ? [] : [`via ${value}`];
  });
  const ports = actions.flatMap((action) => {
    const [, port] = /^outport = "(.+)";$/.exec(action) ?? [];
    return port === undefined ? [] : [`out of ${port}`];
  });
  const text = [...values, ...ports].join(' ');
  return text === '' ? {} : { text };
}

/** Endpoints among which a flow of a load balancer chooses. */
export const backendsOf = ({ actions }: TraceStep): readonly string[] =>
  actions.flatMap((action) => {
    const [, backends = ''] = /\bct_lb(?:_mark)?\(backends=([^;)]+)/.exec(action) ?? [];
    return backends === '' ? [] : backends.split(',').filter(Boolean);
  });
