// Keeps a fault in one view from taking the rest of the page with it.
import { Component, type ComponentChildren } from "preact";

interface Props {
  /** A new value gives the part another chance. */
  resetOn: string;
  children: ComponentChildren;
}

interface State {
  problem: string;
  resetOn: string;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { problem: "", resetOn: this.props.resetOn };

  static override getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.resetOn === state.resetOn ? null : { problem: "", resetOn: props.resetOn };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ problem: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (!this.state.problem) return this.props.children;
    return (
      <div class="error-note" role="alert">
        <p>This view has a fault: {this.state.problem}</p>
        <p class="hint">Your work is safe. Try again, or go to another view.</p>
        <button type="button" class="button" onClick={() => this.setState({ problem: "" })}>
          Try again
        </button>
      </div>
    );
  }
}
