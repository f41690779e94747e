// The contract of the control plane, verbatim. Compiles only if the generated types comply with it.

import type { CLIStateSnapshot as State, ScreenResponse as Screen } from '../src/index.js';

interface CLIStateSnapshot {
  messages: Array<{
    id: string;
    kind: string;
    from: string | null;
    to: string[] | null;
    payload: unknown;
    sent: boolean;
    receivedAt: string; // ISO timestamp when added to UI
  }>;
  participants: string[];
  chatTargets: {
    effective: string[] | null;
    override: string[] | null;
    participantDefault: string[] | null;
    globalDefault: string[] | null;
  };
  ui: {
    reasoning: {
      active: boolean;
      participant: string | null;
      elapsedMs: number;
      tokens: number | null;
      preview: string | null;
    };
    pendingOperation: null | {
      id: string;
      kind: string;
      requestedBy: string;
      createdAt: string;
    };
    signalBoard: {
      expanded: boolean;
      override: 'open' | 'close' | 'auto' | null;
      ackCount: number;
      statusCount: number;
      pauseState: null | { participant: string; reason: string | null };
    };
    verboseMode: boolean;
    showStreams: boolean;
    terminalWidth: number | null;
  };
  streams: {
    active: Array<{
      streamId: string;
      openedBy: string;
      openedAt: string;
      lastActivityAt: string;
    }>;
    recentFrames: Array<{
      streamId: string;
      payload: unknown;
      timestamp: string;
    }>;
  };
  acknowledgements: {
    pending: Array<{
      id: string;
      from: string;
      to: string;
      requestedAt: string;
      status: 'pending' | 'granted' | 'denied';
    }>;
    myPending: string[]; // ack ids assigned to current participant
  };
  participantStatuses: Record<string, {
    status: string;
    summary: string | null;
    lastUpdated: string | null;
  }>;
  toolCatalog: Record<string, Array<{
    name: string;
    displayName: string | null;
    description: string | null;
    inputSchema: unknown | null;
  }>>;
  pauseState: null | {
    active: boolean;
    requestedBy: string | null;
    expiresAt: string | null;
    reason: string | null;
  };
}

interface ScreenResponse {
  raw: string;
  plain: string;
  lines: string[];
  width: number;
  height: number;
  cursor: { x: number; y: number } | null;
  last_frame: string;
  frames_rendered: number;
  scrollback: { buffer_size: number; truncated: boolean };
}

// The generated types are assignable to the contract. The reverse holds except for added fields: protocol and time of a
// message, and optional fields.
type Added = Pick<State["messages"][number], "protocol" | "ts">;
export const kept = (state: State): CLIStateSnapshot => state;
export const nothingElse = (state: CLIStateSnapshot, added: Added): State => {
  return { ...state, messages: state.messages.map((message) => ({ ...message, ...added })) };
};
export const screenKept = (screen: Screen): ScreenResponse => screen;
