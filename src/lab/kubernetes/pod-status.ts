/** What the stand-in for a kubelet says of a pod. Pure. */
import type { LabPodObject } from './objects.ts';

/** A container as it is, beside what the pod says of it. */
export interface FoundContainer {
  readonly name: string;
  readonly image: string;
  readonly id: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Of its program, once that has ended. */
  readonly exitCode?: number;
  readonly isReady: boolean;
}

type Conditions = Readonly<Record<string, boolean>>;

const conditions = (all: Conditions, more: object = {}): object[] =>
  Object.entries(all).map(([type, is]) => ({
    type,
    status: is ? 'True' : 'False',
    ...(is ? {} : more),
  }));

/** Of a pod whose containers were started. */
export function runningStatus(
  addresses: readonly string[],
  containers: readonly FoundContainer[],
): object {
  const codes = containers.map(({ exitCode }) => exitCode);
  const phase = codes.includes(undefined)
    ? 'Running'
    : codes.every((code) => code === 0)
      ? 'Succeeded'
      : 'Failed';
  const ready = containers.every(({ isReady }) => isReady);
  return {
    phase,
    ...NO_TROUBLE,
    podIP: addresses[0] ?? null,
    podIPs: addresses.map((ip) => ({ ip })),
    conditions: conditions({
      PodScheduled: true,
      Initialized: true,
      ContainersReady: ready,
      Ready: ready,
    }),
    containerStatuses: containers.map(({ name, image, id, startedAt, exitCode, isReady }) => ({
      name,
      image,
      imageID: '',
      containerID: `containerd://${id}`,
      restartCount: 0,
      ready: isReady,
      started: exitCode === undefined,
      state:
        exitCode === undefined
          ? { running: { startedAt } }
          : { terminated: { exitCode, startedAt, reason: exitCode === 0 ? 'Completed' : 'Error' } },
    })),
  };
}

/** A merge patch leaves what it does not name. */
const NO_TROUBLE = { reason: null, message: null };

/** Of a pod that does not run yet, and why. */
export function waitingStatus({ spec }: LabPodObject, reason: string, message: string): object {
  return {
    phase: 'Pending',
    reason,
    message,
    podIP: null,
    podIPs: null,
    conditions: [
      ...conditions({ PodScheduled: true }),
      ...conditions(
        { Initialized: false, ContainersReady: false, Ready: false },
        { reason, message },
      ),
    ],
    containerStatuses: spec.containers.map(({ name, image = '' }) => ({
      name,
      image,
      imageID: '',
      restartCount: 0,
      ready: false,
      started: false,
      state: { waiting: { reason, message } },
    })),
  };
}

/** What a pod asks for that the stand-in does not have, as fields of its spec: it would get something else than it wants. */
export function unsupportedFields({ spec }: LabPodObject): string[] {
  const found: string[] = [];
  const look = (field: string, isUsed: boolean): void => {
    if (isUsed) found.push(field);
  };
  look('hostNetwork', spec.hostNetwork === true);
  look('initContainers', (spec.initContainers ?? []).length > 0);
  for (const {
    name,
    env = [],
    envFrom = [],
    volumeMounts = [],
    readinessProbe,
  } of spec.containers) {
    const of = (field: string): string => `containers[${name}].${field}`;
    look(of('envFrom'), envFrom.length > 0);
    look(of('volumeMounts'), volumeMounts.length > 0);
    look(
      of('env[].valueFrom'),
      env.some(({ valueFrom }) => valueFrom !== undefined),
    );
    if (readinessProbe === undefined) continue;
    const { exec, tcpSocket, httpGet } = readinessProbe;
    look(of('readinessProbe.grpc'), (exec ?? tcpSocket ?? httpGet) === undefined);
  }
  return found;
}
