/** What upstream's specs found, spec by spec, and the page that tells it. */

/** Where the specs' pods are: on the cluster's network, or on a primary network of each topology. */
export const NETWORKS = ['default', 'layer3', 'layer2'] as const;
export type Network = (typeof NETWORKS)[number];

/** Of ginkgo's JSON report, what is read. */
interface SpecReport {
  readonly LeafNodeType: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message: string };
}

type State = 'passed' | 'failed' | 'skipped' | 'not run';

export interface Outcome {
  readonly name: string;
  readonly state: State;
  readonly seconds: number;
  /** Of a failure, or why the spec skipped itself. */
  readonly message: string;
}

/** A spec, or several, that can't pass here, and why. */
export interface NotApplicable {
  /** Found in names with `[sig-network] ` before them. ginkgo gets it too: what Go's expressions don't know is not in it. */
  readonly specs: RegExp;
  /** All, unless it says which. */
  readonly networks?: readonly Network[];
  readonly reason: string;
}

/** What is kept of a run. */
export interface Results {
  readonly kubernetes: string;
  readonly network: Network;
  readonly passed: readonly string[];
  readonly failed: readonly Told[];
  readonly notApplicable: readonly Told[];
  /** What a focus left out, or an end before its time. */
  readonly notRun: readonly string[];
}

interface Told {
  readonly name: string;
  readonly why: string;
}

const PREFIX = '[sig-network] ';

/** Specs of a report of ginkgo, without those of SCTP: a feature of its own, which needs a module of the kernel. */
export function outcomes(json: string): readonly Outcome[] {
  const suites = JSON.parse(json) as readonly {
    readonly SpecReports: readonly SpecReport[] | null;
  }[];
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType }) => LeafNodeType === 'It')
    .map((spec) => ({
      name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '),
      state: stateOf(spec),
      seconds: spec.RunTime / 1e9,
      message: firstLines(spec.Failure?.Message ?? ''),
    }))
    .filter(({ name }) => name.startsWith(PREFIX) && !name.includes('SCTP'))
    .map((outcome) => ({ ...outcome, name: outcome.name.slice(PREFIX.length) }));
}

function stateOf({ State, Failure }: SpecReport): State {
  if (State === 'passed') return 'passed';
  // What the focus leaves out is skipped without a message.
  if (State === 'skipped' || State === 'pending')
    return (Failure?.Message ?? '') === '' ? 'not run' : 'skipped';
  return 'failed';
}

/** One line of what can be a page. */
function firstLines(message: string): string {
  const line = message
    .split('\n')
    .map((part) => part.trim())
    .filter(Boolean)
    .join(' ');
  return line.length > 300 ? `${line.slice(0, 300)} …` : line;
}

/** Why a spec can't pass on a network; undefined where it must. */
export function whyNotApplicable(
  list: readonly NotApplicable[],
  network: Network,
  name: string,
): string | undefined {
  return list.find(
    ({ specs, networks }) =>
      specs.test(`${PREFIX}${name}`) && (networks?.includes(network) ?? true),
  )?.reason;
}

export interface Run {
  readonly kubernetes: string;
  readonly network: Network;
  /** Reports of one network, a later one's outcome of a spec in place of an earlier one's. */
  readonly outcomes: readonly Outcome[];
  readonly list: readonly NotApplicable[];
}

const SKIPS_ITSELF = 'it skips itself: ';

/** What was kept, as if it were a run before: reasons of the list are found anew. */
export function keptOutcomes({ passed, failed, notApplicable, notRun }: Results): Outcome[] {
  const outcome = (name: string, state: State, message = ''): Outcome => ({
    name,
    state,
    seconds: 0,
    message,
  });
  return [
    ...passed.map((name) => outcome(name, 'passed')),
    ...failed.map(({ name, why }) => outcome(name, 'failed', why)),
    ...notApplicable.map(({ name, why }) =>
      why.startsWith(SKIPS_ITSELF)
        ? outcome(name, 'skipped', why.slice(SKIPS_ITSELF.length))
        : outcome(name, 'not run'),
    ),
    ...notRun.map((name) => outcome(name, 'not run')),
  ];
}

/** Sorts what specs ended with. */
export function networkResults({ kubernetes, network, outcomes: all, list }: Run): Results {
  const latest = new Map<string, Outcome>();
  for (const one of all)
    if (one.state !== 'not run' || !latest.has(one.name)) latest.set(one.name, one);
  const passed: string[] = [];
  const failed: Told[] = [];
  const notApplicable: Told[] = [];
  const notRun: string[] = [];
  for (const { name, state, message } of [...latest.values()].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const why = whyNotApplicable(list, network, name);
    if (state === 'passed') passed.push(name);
    else if (why !== undefined) notApplicable.push({ name, why });
    else if (state === 'skipped') notApplicable.push({ name, why: `${SKIPS_ITSELF}${message}` });
    else if (state === 'failed') failed.push({ name, why: message });
    else notRun.push(name);
  }
  return { kubernetes, network, passed, failed, notApplicable, notRun };
}
